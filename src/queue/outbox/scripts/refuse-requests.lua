--[[
  Notes that a platform refuses a bot: for a while, and as one of the refusals that it counts.

  KEYS[1] paused    KEYS[2] invalid: count

  ARGV[1] ms for which nothing is taken, 0 for none: the longest wins
  ARGV[2] "1": the refusal counts    ARGV[3] ms after which the count begins anew
]]
local paused, invalid = KEYS[1], KEYS[2]
local ms, counts, window = tonumber(ARGV[1]), ARGV[2] == "1", ARGV[3]

if ms > 0 and redis.call("PTTL", paused) < ms then
  redis.call("SET", paused, "1", "PX", ms)
end
if counts and redis.call("INCR", invalid) == 1 then
  redis.call("PEXPIRE", invalid, window)
end
