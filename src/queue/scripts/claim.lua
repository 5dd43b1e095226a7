--[[
  Claims a session: whoever held it before can write no more.

  KEYS[1] head

  Output {epoch, generation, stuck}
    stuck: claims in a row, this one included, that found the log no longer than the one before.
           A worker that hands over (handover = 1) is not counted.
]]
local epoch = redis.call("HINCRBY", KEYS[1], "epoch", 1)
local head = redis.call("HMGET", KEYS[1], "generation", "length", "claimedLength", "stuck", "handover", "status")
local length = head[2] or "0"
local stuck = 1
if head[6] == "running" and head[3] == length then
  stuck = tonumber(head[4] or "0")
  if head[5] ~= "1" then
    stuck = stuck + 1
  end
end
redis.call("HSET", KEYS[1], "claimedLength", length, "stuck", stuck, "handover", "0")
return {epoch, tonumber(head[1] or "0"), stuck}
