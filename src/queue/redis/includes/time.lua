-- The time by the one clock that all processes share, ms.
local function timeMs()
  local time = redis.call("TIME")
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
