--[[
  Gives a message that no turn has taken another place among those that wait in its thread. Idempotent.
  Corrections of what a turn works on already lie in the same list and count as no place.

  KEYS[1] mail

  ARGV[1] id of the message    ARGV[2] its place, counted from 1; a place behind the last one means the last one

  Output
    {place, count}  where it is now, and how many wait
    {0, 0}          it does not wait
]]
-- @include decode
local mail, message, wanted = KEYS[1], ARGV[1], tonumber(ARGV[2])

local own, current
local others = {}
for _, entry in ipairs(redis.call("LRANGE", mail, 0, -1)) do
  local waiting = decode(entry).message
  local id = type(waiting) == "table" and waiting.id or nil
  if id == message then
    own, current = entry, #others + 1
  elseif type(id) == "string" and not string.find(id, "~[%d.]+$") then
    others[#others + 1] = entry
  end
end
if not own then
  return { 0, 0 }
end

local place = math.min(wanted, #others + 1)
if place ~= current then
  redis.call("LREM", mail, 1, own)
  if others[place] then
    redis.call("LINSERT", mail, "BEFORE", others[place], own)
  else
    redis.call("RPUSH", mail, own)
  end
end
return { place, #others + 1 }
