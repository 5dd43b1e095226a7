--[[
  Lets keys of a session expire after some time of silence.

  KEYS    keys of the session

  ARGV[1] seconds
]]
local seconds = ARGV[1]

for _, key in ipairs(KEYS) do
  redis.call("EXPIRE", key, seconds)
end
