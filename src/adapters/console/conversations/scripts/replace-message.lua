--[[
  Replaces a message of a console thread unless it was changed or removed since it was read, and announces it.

  KEYS[1]  hash of the thread's messages

  ARGV[1]  message id
  ARGV[2]  the message as it was read
  ARGV[3]  the message as it shall be
  ARGV[4]  channel of announcements
  ARGV[5]  the announcement

  Output: 1 replaced, 0 not the message that was read
]]
if redis.call("HGET", KEYS[1], ARGV[1]) ~= ARGV[2] then
  return 0
end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3])
redis.call("PUBLISH", ARGV[4], ARGV[5])
return 1
