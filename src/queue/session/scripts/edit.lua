--[[
  Changes a message that waits, or passes the new text on as a correction while a turn works on the old one.

  KEYS[1] head    KEYS[2] mail    KEYS[3] asked    KEYS[4] seen (of this edit)

  ARGV[1] id of the message    ARGV[2] its new text
  ARGV[3] record of the correction (JSON)    ARGV[4] seconds to remember the edit

  Output
    1  it waited and was changed
    2  the correction waits for the running turn
    3  told before: nothing was changed
    0  not a message that waits or is being worked on
]]
-- What cannot be read is not the message.
local function decoded(json)
  local ok, value = pcall(cjson.decode, json)
  return ok and type(value) == "table" and value or {}
end

local mail = redis.call("LRANGE", KEYS[2], 0, -1)
for index, entry in ipairs(mail) do
  local record = decoded(entry)
  if type(record.message) == "table" and record.message.id == ARGV[1] then
    -- Told again, it must not undo a later one.
    if not redis.call("SET", KEYS[4], "1", "NX", "EX", ARGV[4]) then
      return 3
    end
    record.message.text = ARGV[2]
    redis.call("LSET", KEYS[2], index - 1, cjson.encode(record))
    return 1
  end
end
if redis.call("HGET", KEYS[1], "status") ~= "running" or redis.call("SISMEMBER", KEYS[3], ARGV[1]) == 0 then
  return 0
end
if not redis.call("SET", KEYS[4], "1", "NX", "EX", ARGV[4]) then
  return 3
end
redis.call("RPUSH", KEYS[2], ARGV[3])
return 2
