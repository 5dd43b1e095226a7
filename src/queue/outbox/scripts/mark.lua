--[[
  Raises the state of somebody's message, and keeps who writes it to the platform at this moment. What comes late
  changes nothing.

  KEYS[1] state: rank, colon, mark    KEYS[2] writers: sorted set by when they are taken for dead

  ARGV[1] mark    ARGV[2] its rank    ARGV[3] seconds to remember it
  ARGV[4] writer    ARGV[5] ms after which it is taken for dead, 0 when it has written
  ARGV[6] the mark that it has written, with which it is done if that still holds; "" before

  Output {mark, others, before, rank}
    the mark that holds now, how many others are writing, the mark that held before, "" when there was none, and the rank
    of the one that holds, as a text: it may have a fraction
]]
-- @include time
local state, writers = KEYS[1], KEYS[2]
local mark, rank, seconds, writer, writingMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local written = ARGV[6]
local now = timeMs()
local known = redis.call("GET", state)
local before = known and known:match(":(.*)$") or ""
if not known or tonumber(known:match("^[%d.]+")) < tonumber(rank) then
  known = rank .. ":" .. mark
  redis.call("SET", state, known, "EX", seconds)
end
redis.call("ZREMRANGEBYSCORE", writers, "-inf", now)
redis.call("ZREM", writers, writer)
local others = redis.call("ZCARD", writers)
local isDone = known:match(":(.*)$") == written and before == written
if writingMs > 0 and not isDone then
  redis.call("ZADD", writers, now + writingMs, writer)
  redis.call("PEXPIRE", writers, writingMs)
end
return { known:match(":(.*)$"), others, before, known:match("^[%d.]+") }
