--[[
  Asks for one request of a bot. As many are let through in any window as the platform takes, of all processes together,
  and none while it takes nothing or too many were refused. Idempotent: a client that lost the reply with its connection
  is let through by the same request.

  KEYS[1] sent: sorted set of the requests of the last window by their time    KEYS[2] paused    KEYS[3] invalid: count

  ARGV[1] id of the request    ARGV[2] how many are let through in a window    ARGV[3] the window, ms
  ARGV[4] how many may be refused

  Output {what, ms}
    0  go
    1  ask again in ms
    2  nothing is taken for ms
]]
-- @include time
local sent, paused, invalid = KEYS[1], KEYS[2], KEYS[3]
local request, most, window, mostInvalid = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local pause = redis.call("PTTL", paused)
if tonumber(redis.call("GET", invalid) or "0") >= mostInvalid then
  pause = math.max(pause, redis.call("PTTL", invalid))
end
if pause > 0 then
  return { 2, pause }
end
local now = timeMs()
redis.call("ZREMRANGEBYSCORE", sent, "-inf", now - window)
if redis.call("ZSCORE", sent, request) then
  return { 0, 0 }
end
local count = redis.call("ZCARD", sent)
if count < most then
  redis.call("ZADD", sent, now, request)
  redis.call("PEXPIRE", sent, 2 * window)
  return { 0, 0 }
end
-- When so many have left the window that there is room.
local leaving = redis.call("ZRANGE", sent, count - most, count - most, "WITHSCORES")
return { 1, math.max(1, tonumber(leaving[2]) + window - now) }
