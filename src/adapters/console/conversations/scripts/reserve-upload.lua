--[[
  Makes room for a file that somebody sends to a console thread, if what is held already leaves any.

  KEYS[1]  sorted set of the files that are held: `<thread>.<file>.<bytes>` by the time until which they are, ms

  ARGV[1]  now, ms
  ARGV[2]  thread
  ARGV[3]  file
  ARGV[4]  its bytes
  ARGV[5]  held until, ms
  ARGV[6]  most bytes of one thread
  ARGV[7]  most bytes of all threads
  ARGV[8]  milliseconds after which the set itself expires

  Output: "held", "thread" when the thread has too many bytes, "all" when all threads together have
]]
local held, now, thread, file = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local bytes, untilMs, mostOfThread, mostOfAll = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])

local ofThread, ofAll = bytes, bytes
for _, member in ipairs(redis.call("ZRANGEBYSCORE", held, "(" .. now, "+inf")) do
  local owner, size = string.match(member, "^(%w+)%.%w+%.(%d+)$")
  ofAll = ofAll + tonumber(size)
  if owner == thread then
    ofThread = ofThread + tonumber(size)
  end
end
if ofThread > mostOfThread then
  return "thread"
end
if ofAll > mostOfAll then
  return "all"
end
redis.call("ZADD", held, untilMs, thread .. "." .. file .. "." .. ARGV[4])
redis.call("PEXPIRE", held, ARGV[8])
return "held"
