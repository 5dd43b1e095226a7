--[[
  Counts a message among those of a window, once, if there is room for it. Called again with the same message it says
  the same.

  KEYS[1] sorted set: messages of the window, by time

  ARGV[1] message    ARGV[2] now, ms    ARGV[3] length of the window, ms    ARGV[4] how many there may be

  Output
    1   it is among them
    0   they are as many as may be; nothing was counted
]]
local recent = KEYS[1]
local message, now, windowMs, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

redis.call("ZREMRANGEBYSCORE", recent, "-inf", now - windowMs)
if redis.call("ZSCORE", recent, message) then
  return 1
end
if redis.call("ZCARD", recent) >= most then
  return 0
end
redis.call("ZADD", recent, now, message)
redis.call("PEXPIRE", recent, windowMs)
return 1
