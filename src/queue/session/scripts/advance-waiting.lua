--[[
  Puts a message that no turn has taken before all others that wait in its thread. Idempotent.

  KEYS[1] mail

  ARGV[1] id of the message

  Output
    1  it is the first
    0  it does not wait
]]
-- @include decode
-- @include find-waiting
local mail, message = KEYS[1], ARGV[1]

local entry, position = findWaiting(mail, message)
if not entry then
  return 0
end
if position > 0 then
  redis.call("LREM", mail, 1, entry)
  redis.call("LPUSH", mail, entry)
end
return 1
