--[[
  Takes a slot in each of the places, or in none. A place is a sorted set of threads by the time at which their
  slot is given up for lost. Whoever has a slot already keeps it. People who find a place full are noted, and what
  was scheduled leaves them the slots that become free.

  KEYS    the places, then as many sorted sets of threads with people who wait for them

  ARGV[1] thread    ARGV[2] ms until the slot is given up for lost
  ARGV[3] "1": a person waits in the thread    ARGV[4] ms for which one who waits is noted
  ARGV[5] … the number of slots in each place

  Output
    1  in
    0  one of the places is full
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local places = #KEYS / 2
local isFull = false
for index = 1, places do
  local place, line = KEYS[index], KEYS[places + index]
  redis.call("ZREMRANGEBYSCORE", place, "-inf", now)
  redis.call("ZREMRANGEBYSCORE", line, "-inf", now)
  local taken = redis.call("ZCARD", place)
  if ARGV[3] ~= "1" then
    taken = taken + redis.call("ZCARD", line)
  end
  if not redis.call("ZSCORE", place, ARGV[1]) and taken >= tonumber(ARGV[index + 4]) then
    isFull = true
  end
end
for index = 1, places do
  local place, line = KEYS[index], KEYS[places + index]
  if not isFull then
    redis.call("ZADD", place, now + ARGV[2], ARGV[1])
    redis.call("PEXPIRE", place, ARGV[2])
    redis.call("ZREM", line, ARGV[1])
  elseif ARGV[3] == "1" then
    redis.call("ZADD", line, now + ARGV[4], ARGV[1])
    redis.call("PEXPIRE", line, ARGV[4])
  end
end
return isFull and 0 or 1
