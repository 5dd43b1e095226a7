--[[
  Records the order to stop a thread, and tells the workers.

  KEYS[1] head    KEYS[2] mail    KEYS[3] stop    KEYS[4] jobs    KEYS[5] seen (of what somebody did to stop it)

  ARGV[1] order (JSON with `at`)
  ARGV[2] seconds to keep it
  ARGV[3] seconds to remember what somebody did
  ARGV[4] channel on which the workers are told    ARGV[5] thread

  Output
    1  recorded, and there is a running turn, waiting mail or a background job
    2  the same, and it was told before
    0  nothing to stop: not recorded
]]
-- @include decode
-- @include time
-- @include newest-stop
local head, mail, stop, jobs, seen = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local order, keptSeconds, seenSeconds = ARGV[1], ARGV[2], ARGV[3]

local isRunning = redis.call("HGET", head, "status") == "running"
if not isRunning and redis.call("LLEN", mail) == 0 and redis.call("EXISTS", jobs) == 0 then
  return 0
end
keepNewestStop(stop, order, keptSeconds, head, redis.call("EXISTS", seen) == 1, 4)
return redis.call("SET", seen, "1", "NX", "EX", seenSeconds) and 1 or 2
