--[[
  Changes a message that waits, or passes the new text on as a correction while a turn works on the old one. Of a
  message's corrections only the last one waits.

  KEYS[1] head    KEYS[2] mail    KEYS[3] asked    KEYS[4] when the newest known edit of the message was made, ms

  ARGV[1] id of the message    ARGV[2] its new text
  ARGV[3] record of the correction (JSON)    ARGV[4] seconds to remember the edit
  ARGV[5] when it was made, ms    ARGV[6] "1" where the new text asks for a plan first

  Output
    1  it waited and was changed
    2  the correction waits for the running turn
    3  told before, or older than one that was told: nothing was changed
    0  not a message that waits or is being worked on
]]
-- @include decode
-- @include find-waiting
-- @include find-correction
-- @include mail-size
local head, mail, asked, newest = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local message, text, correction, seconds, at, plan = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6] == "1"

-- Told again, or late, it must not undo a later one.
local function isNew()
  if tonumber(at) <= tonumber(redis.call("GET", newest) or "0") then
    return false
  end
  redis.call("SET", newest, at, "EX", seconds)
  return true
end

local entry, position = findWaiting(mail, message)
if entry then
  if not isNew() then
    return 3
  end
  local record = decode(entry)
  record.message.text = text
  record.message.plan = plan or nil
  local changed = cjson.encode(record)
  redis.call("LSET", mail, position, changed)
  resizeMail(head, #changed - #entry)
  return 1
end
if redis.call("HGET", head, "status") ~= "running" or redis.call("SISMEMBER", asked, message) == 0 then
  return 0
end
if not isNew() then
  return 3
end
-- Some programs edit a message many times, and a turn that waits for people takes no correction meanwhile.
local earlier = findCorrection(mail, message)
if earlier then
  removeEntry(head, mail, earlier)
end
addEntry(head, mail, correction)
return 2
