--[[
  Records the order to stop a thread. The newest order by the platform's time wins.

  KEYS[1] head    KEYS[2] mail    KEYS[3] stop    KEYS[4] jobs    KEYS[5] seen (of what somebody did to stop it)

  ARGV[1] order (JSON with `at`)
  ARGV[2] seconds to keep it
  ARGV[3] seconds to remember what somebody did

  Output
    1  recorded, and there is a running turn, waiting mail or a background job
    2  the same, and it was told before
    0  nothing to stop: not recorded
]]
-- An order that cannot be read is older than any other.
local function timeOf(order)
  local ok, value = pcall(cjson.decode, order)
  return ok and type(value) == "table" and tonumber(value.at) or -1
end

if
  redis.call("HGET", KEYS[1], "status") ~= "running"
  and redis.call("LLEN", KEYS[2]) == 0
  and redis.call("EXISTS", KEYS[4]) == 0
then
  return 0
end
local newest = redis.call("GET", KEYS[3])
if not newest or timeOf(newest) < timeOf(ARGV[1]) then
  newest = ARGV[1]
end
-- A Redis without memory refuses only a script's first write, and never a DEL: a stop must work then too.
redis.call("DEL", KEYS[3])
redis.call("SET", KEYS[3], newest, "EX", ARGV[2])
return redis.call("SET", KEYS[5], "1", "NX", "EX", ARGV[3]) and 1 or 2
