--[[
  Leaves a channel alone for a while, for everybody. The longest pause counts.

  KEYS[1] pace

  ARGV[1] ms
]]
local time = redis.call("TIME")
local untilWhen = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
if untilWhen > tonumber(redis.call("HGET", KEYS[1], "paused") or "0") then
  redis.call("HSET", KEYS[1], "paused", untilWhen)
  redis.call("PEXPIRE", KEYS[1], ARGV[1] + 60000)
end
