--[[
  Takes a thread off the list of those with something to do, unless it was listed anew in the meantime.

  KEYS[1] waiting

  ARGV[1] thread    ARGV[2] its score when its mailbox was still to be looked at
]]
if redis.call("ZSCORE", KEYS[1], ARGV[1]) == ARGV[2] then
  redis.call("ZREM", KEYS[1], ARGV[1])
end
