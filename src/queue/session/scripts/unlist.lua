--[[
  Takes a thread off the list of those with something to do, or lists it for later, unless it was listed anew in
  the meantime.

  KEYS[1] waiting

  ARGV[1] thread    ARGV[2] its score when its mailbox was still to be looked at
  ARGV[3] when it has something to do by itself, ms; "" when never
]]
if redis.call("ZSCORE", KEYS[1], ARGV[1]) == ARGV[2] then
  if ARGV[3] == "" then
    redis.call("ZREM", KEYS[1], ARGV[1])
  else
    redis.call("ZADD", KEYS[1], ARGV[3], ARGV[1])
  end
end
