--[[
  Asks for the right to write to a channel once. Everybody who waits stands in one line, ordered by rank and
  then by time; the first in it goes as soon as the budget allows (generic cell rate algorithm).

  KEYS[1] pace: hash of `at` (when the budget is whole again, ms) and `paused` (until, ms)
  KEYS[2] line: sorted set of tickets by rank and time    KEYS[3] sorted set of tickets by when they are forgotten

  ARGV[1] ticket    ARGV[2] rank, 0 first    ARGV[3] writes at once    ARGV[4] ms for each further one

  Output
    0      go, the ticket is used
    n > 0  ask again in n ms
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local burst, interval = tonumber(ARGV[3]), tonumber(ARGV[4])

-- Those whose process died must not hold up the others.
for _, dead in ipairs(redis.call("ZRANGEBYSCORE", KEYS[3], "-inf", now)) do
  redis.call("ZREM", KEYS[2], dead)
  redis.call("ZREM", KEYS[3], dead)
end
if not redis.call("ZSCORE", KEYS[2], ARGV[1]) then
  redis.call("ZADD", KEYS[2], ARGV[2] * 1e13 + now, ARGV[1])
end

local ahead = redis.call("ZRANK", KEYS[2], ARGV[1])
local at = tonumber(redis.call("HGET", KEYS[1], "at") or "0")
local paused = tonumber(redis.call("HGET", KEYS[1], "paused") or "0")
local wait = math.max(paused, at - (burst - 1) * interval) - now
if ahead == 0 and wait <= 0 then
  redis.call("HSET", KEYS[1], "at", math.max(at, now) + interval)
  redis.call("PEXPIRE", KEYS[1], math.max(paused - now, burst * interval) + 60000)
  redis.call("ZREM", KEYS[2], ARGV[1])
  redis.call("ZREM", KEYS[3], ARGV[1])
  return 0
end
-- The one before may give up, so nobody waits for all of them at a stretch.
wait = math.max(wait, 0) + math.min(ahead, 2) * interval
wait = math.ceil(math.max(wait, 5))
redis.call("ZADD", KEYS[3], now + wait + 5000, ARGV[1])
redis.call("PEXPIRE", KEYS[2], wait + 60000)
redis.call("PEXPIRE", KEYS[3], wait + 60000)
return wait
