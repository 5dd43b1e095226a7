--[[
  Keeps what somebody without permission wrote, once, where there is a session; or changes what is kept of it.

  KEYS[1] head    KEYS[2] seen    KEYS[3] overheard

  ARGV[1] id of the message    ARGV[2] id and quote (JSON), or "" to forget it
  ARGV[3] "1": only when it is kept (it was edited or deleted)
  ARGV[4] how many are kept, the newest
  ARGV[5] seconds to remember the message    ARGV[6] seconds to keep the quotes
]]
-- What cannot be read is not the message.
local function decoded(json)
  local ok, value = pcall(cjson.decode, json)
  return ok and type(value) == "table" and value or {}
end

if ARGV[3] == "1" then
  for index, entry in ipairs(redis.call("LRANGE", KEYS[3], 0, -1)) do
    if decoded(entry).message == ARGV[1] then
      if ARGV[2] == "" then
        redis.call("LREM", KEYS[3], 1, entry)
      else
        redis.call("LSET", KEYS[3], index - 1, ARGV[2])
      end
      return
    end
  end
  return
end
if redis.call("EXISTS", KEYS[1]) == 0 or redis.call("EXISTS", KEYS[2]) == 1 then
  return
end
redis.call("SET", KEYS[2], "1", "EX", ARGV[5])
redis.call("RPUSH", KEYS[3], ARGV[2])
redis.call("LTRIM", KEYS[3], -ARGV[4], -1)
redis.call("EXPIRE", KEYS[3], ARGV[6])
