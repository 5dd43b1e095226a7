--[[
  Pauses all writes to a channel, of every process. The longest pause wins.

  KEYS[1] pace

  ARGV[1] ms
]]
-- @include time
local pace = KEYS[1]
local ms = ARGV[1]

local untilWhen = timeMs() + ms
if untilWhen > tonumber(redis.call("HGET", pace, "paused") or "0") then
  redis.call("HSET", pace, "paused", untilWhen)
  redis.call("PEXPIRE", pace, ms + 60000)
end
