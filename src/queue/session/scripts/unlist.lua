--[[
  Takes a thread off the list of those with something to do, or lists it for later. One that was listed anew in the
  meantime stays listed, for the earlier of the two times. One that is not listed is listed for later too.

  KEYS[1] waiting

  ARGV[1] thread    ARGV[2] its score when its mailbox was still to be looked at; "" when it was not listed
  ARGV[3] when it has something to do by itself, ms; "" when never

  Output
    1  it stays listed for what came in the meantime
    0  it is off the list, or listed for ARGV[3]
]]
local waiting = KEYS[1]
local thread, score, wakeAt = ARGV[1], ARGV[2], ARGV[3]

local current = redis.call("ZSCORE", waiting, thread)
if current and current ~= score and (wakeAt == "" or tonumber(current) < tonumber(wakeAt)) then
  return 1
end
if wakeAt == "" then
  redis.call("ZREM", waiting, thread)
else
  redis.call("ZADD", waiting, wakeAt, thread)
end
return 0
