--[[
  Takes a slot in each of the places, or in none. A place is a sorted set of threads by the time at which their
  slot is given up for lost. Whoever has a slot already keeps it.

  KEYS    the places

  ARGV[1] thread    ARGV[2] ms until the slot is given up for lost
  ARGV[3] … the number of slots in each place

  Output
    1  in
    0  one of the places is full
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for index, place in ipairs(KEYS) do
  redis.call("ZREMRANGEBYSCORE", place, "-inf", now)
  local isIn = redis.call("ZSCORE", place, ARGV[1])
  if not isIn and redis.call("ZCARD", place) >= tonumber(ARGV[index + 2]) then
    return 0
  end
end
for _, place in ipairs(KEYS) do
  redis.call("ZADD", place, now + ARGV[2], ARGV[1])
  redis.call("PEXPIRE", place, ARGV[2])
end
return 1
