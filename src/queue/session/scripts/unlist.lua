--[[
  Takes a thread off the list of those with something to do, or lists it for later, unless it was listed anew in
  the meantime. One that is not listed is listed for later too.

  KEYS[1] waiting

  ARGV[1] thread    ARGV[2] its score when its mailbox was still to be looked at; "" when it was not listed
  ARGV[3] when it has something to do by itself, ms; "" when never
]]
local waiting = KEYS[1]
local thread, score, wakeAt = ARGV[1], ARGV[2], ARGV[3]

local current = redis.call("ZSCORE", waiting, thread)
if current and current ~= score then
  return
end
if wakeAt == "" then
  redis.call("ZREM", waiting, thread)
else
  redis.call("ZADD", waiting, wakeAt, thread)
end
