--[[
  Asks for one write to a channel. All writers wait in one queue, ordered by rank and then by time; the first of
  them may write as soon as the rate limit allows (generic cell rate algorithm).

  KEYS[1] pace: hash of `at` (when the budget is whole again, ms) and `paused` (until, ms)
  KEYS[2] queue: sorted set of tickets by rank and time    KEYS[3] sorted set of tickets by when they are forgotten

  ARGV[1] ticket    ARGV[2] rank, 0 first    ARGV[3] writes at once    ARGV[4] ms for each further one
  ARGV[5] writes at once of those who may use the whole budget

  Output
    0      go, the ticket is used
    n > 0  ask again in n ms
]]
-- @include time
local pace, queue, tickets = KEYS[1], KEYS[2], KEYS[3]
local ticket, rank, burst, interval = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local now = timeMs()

-- Those whose process died must not hold up the others.
for _, dead in ipairs(redis.call("ZRANGEBYSCORE", tickets, "-inf", now)) do
  redis.call("ZREM", queue, dead)
  redis.call("ZREM", tickets, dead)
end
if not redis.call("ZSCORE", queue, ticket) then
  redis.call("ZADD", queue, rank * 1e13 + now, ticket)
end

local ahead = redis.call("ZRANK", queue, ticket)
local at = tonumber(redis.call("HGET", pace, "at") or "0")
local latest = now + tonumber(ARGV[5]) * interval
if at > latest then
  -- The clock was set back since.
  at = latest
  redis.call("HSET", pace, "at", at)
end
local paused = tonumber(redis.call("HGET", pace, "paused") or "0")
local wait = math.max(paused, at - (burst - 1) * interval) - now
if ahead == 0 and wait <= 0 then
  redis.call("HSET", pace, "at", math.max(at, now) + interval)
  redis.call("PEXPIRE", pace, math.max(paused - now, burst * interval) + 60000)
  redis.call("ZREM", queue, ticket)
  redis.call("ZREM", tickets, ticket)
  return 0
end
-- The one before may give up, so nobody waits for all of them at a stretch.
wait = math.max(wait, 0) + math.min(ahead, 2) * interval
wait = math.ceil(math.max(wait, 5))
redis.call("ZADD", tickets, now + wait + 5000, ticket)
redis.call("PEXPIRE", queue, wait + 60000)
redis.call("PEXPIRE", tickets, wait + 60000)
return wait
