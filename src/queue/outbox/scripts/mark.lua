--[[
  Raises the state of somebody's message, and keeps who writes it to the platform at this moment. What comes late
  changes nothing.

  KEYS[1] state: rank, colon, mark    KEYS[2] writers: sorted set by when they are taken for dead

  ARGV[1] mark    ARGV[2] its rank    ARGV[3] seconds to remember it
  ARGV[4] writer    ARGV[5] ms after which it is taken for dead, 0 when it has written

  Output {mark, others, before}
    the mark that holds now, how many others are writing, and the mark that held before, "" when there was none
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call("GET", KEYS[1])
local before = known and known:match(":(.*)$") or ""
if not known or tonumber(known:match("^%d+")) < tonumber(ARGV[2]) then
  known = ARGV[2] .. ":" .. ARGV[1]
  redis.call("SET", KEYS[1], known, "EX", ARGV[3])
end
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", now)
redis.call("ZREM", KEYS[2], ARGV[4])
local others = redis.call("ZCARD", KEYS[2])
if tonumber(ARGV[5]) > 0 then
  redis.call("ZADD", KEYS[2], now + ARGV[5], ARGV[4])
  redis.call("PEXPIRE", KEYS[2], ARGV[5])
end
return { known:match(":(.*)$"), others, before }
