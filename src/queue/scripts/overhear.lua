--[[
  Keeps what somebody without permission wrote, once, where there is a session.

  KEYS[1] head    KEYS[2] seen    KEYS[3] overheard

  ARGV[1] id of the message and quote (JSON)    ARGV[2] how many are kept, the newest
  ARGV[3] seconds to remember the message       ARGV[4] seconds to keep the quotes
]]
if redis.call("EXISTS", KEYS[1]) == 0 or redis.call("EXISTS", KEYS[2]) == 1 then
  return
end
redis.call("SET", KEYS[2], "1", "EX", ARGV[3])
redis.call("RPUSH", KEYS[3], ARGV[1])
redis.call("LTRIM", KEYS[3], -ARGV[2], -1)
redis.call("EXPIRE", KEYS[3], ARGV[4])
