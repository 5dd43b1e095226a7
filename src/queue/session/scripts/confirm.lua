--[[
  Says that whoever holds a session is still at it, for others that would take it over.

  KEYS[1] head

  ARGV[1] epoch of the claim

  Output
    1  it is held by this claim
    0  somebody else has claimed it
]]
-- @include time
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then
  return 0
end
redis.call("HSET", KEYS[1], "confirmedAt", string.format("%.0f", timeMs()))
return 1
