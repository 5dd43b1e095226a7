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
-- @include decode
-- @include mail-size
local head, mail, asked, seen = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local message, text, correction, seconds = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

for index, entry in ipairs(redis.call("LRANGE", mail, 0, -1)) do
  local record = decode(entry)
  if type(record.message) == "table" and record.message.id == message then
    -- Told again, it must not undo a later one.
    if not redis.call("SET", seen, "1", "NX", "EX", seconds) then
      return 3
    end
    record.message.text = text
    local changed = cjson.encode(record)
    redis.call("LSET", mail, index - 1, changed)
    resizeMail(head, #changed - #entry)
    return 1
  end
end
if redis.call("HGET", head, "status") ~= "running" or redis.call("SISMEMBER", asked, message) == 0 then
  return 0
end
if not redis.call("SET", seen, "1", "NX", "EX", seconds) then
  return 3
end
addEntry(head, mail, correction)
return 2
