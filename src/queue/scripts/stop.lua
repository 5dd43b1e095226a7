--[[
  Records the order to stop a thread. The newest order by the platform's time wins.

  KEYS[1] head    KEYS[2] mail    KEYS[3] stop    KEYS[4] jobs

  ARGV[1] order (JSON with `at`)
  ARGV[2] seconds to keep it

  Output
    1  recorded, and there is a running turn, waiting mail or a background job
    0  nothing to stop: not recorded
]]
if
  redis.call("HGET", KEYS[1], "status") ~= "running"
  and redis.call("LLEN", KEYS[2]) == 0
  and redis.call("EXISTS", KEYS[4]) == 0
then
  return 0
end
local known = redis.call("GET", KEYS[3])
if not known or cjson.decode(known).at < cjson.decode(ARGV[1]).at then
  -- A Redis without memory refuses only a script's first write, and never a DEL: a stop must work then too.
  redis.call("DEL", KEYS[3])
  redis.call("SET", KEYS[3], ARGV[1], "EX", ARGV[2])
end
return 1
