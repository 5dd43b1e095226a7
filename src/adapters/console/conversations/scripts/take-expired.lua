--[[
  Takes the files off the list whose time is over, so that exactly one process deletes them.

  KEYS[1]  sorted set of the files that are held, see reserve-upload.lua

  ARGV[1]  now, ms
  ARGV[2]  how many at most

  Output: their members
]]
local expired = redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", ARGV[1], "LIMIT", 0, ARGV[2])
for _, member in ipairs(expired) do
  redis.call("ZREM", KEYS[1], member)
end
return expired
