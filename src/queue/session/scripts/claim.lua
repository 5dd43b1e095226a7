--[[
  Claims a session: whoever held it before can write no more.
  Applied once: a client that lost the answer with its connection gets it again for the same claim.

  KEYS[1] head

  ARGV[1] a name that no other claim has

  Output {epoch, generation, stuck}
    stuck: claims in a row, this one included, that found the log no longer than the one before.
           A worker that hands over (handover = 1) is not counted.
]]
if redis.call("HGET", KEYS[1], "claim") ~= ARGV[1] then
  local head = redis.call("HMGET", KEYS[1], "length", "claimedLength", "stuck", "handover", "status")
  local length = head[1] or "0"
  local stuck = 1
  if head[5] == "running" and head[2] == length then
    stuck = tonumber(head[3] or "0")
    if head[4] ~= "1" then
      stuck = stuck + 1
    end
  end
  redis.call("HINCRBY", KEYS[1], "epoch", 1)
  redis.call("HSET", KEYS[1], "claim", ARGV[1], "claimedLength", length, "stuck", stuck, "handover", "0")
end
local claimed = redis.call("HMGET", KEYS[1], "epoch", "generation", "stuck")
return { tonumber(claimed[1]), tonumber(claimed[2] or "0"), tonumber(claimed[3]) }
