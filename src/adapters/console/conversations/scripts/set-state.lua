--[[
  Notes the mark that a message of a console thread was given as the state of the thread, unless another message is worked
  on: a thread that works is working, whatever waits in it or was answered beside it.

  KEYS[1]  hash of the thread
  KEYS[2]  hash of the thread's messages

  ARGV[1]  message id
  ARGV[2]  its mark
  ARGV[3]  the mark again where the work waits for people, else empty

  Output: 1 noted, 0 another message is worked on
]]
local function isTaken(id)
  local stored = redis.call("HGET", KEYS[2], id)
  local parsed, message = pcall(cjson.decode, stored or "")
  return parsed and type(message) == "table" and message.mark == "taken"
end

local others = {}
for id in string.gmatch(redis.call("HGET", KEYS[1], "taken") or "", "%S+") do
  if id ~= ARGV[1] and isTaken(id) then
    table.insert(others, id)
  end
end
local works = #others > 0 and ARGV[2] ~= "taken"
if ARGV[2] == "taken" then
  table.insert(others, ARGV[1])
end
redis.call("HSET", KEYS[1], "taken", table.concat(others, " "))
if works then
  return 0
end
-- An older Heddle writes `state` alone, which then counts.
redis.call("HSET", KEYS[1], "state", ARGV[2], "paused", ARGV[3])
return 1
