--[[
  Orders an undo, or answers one, unless another order was given since the head was read.
  Idempotent: a client that lost the reply with its connection orders the same again.

  KEYS[1] head

  ARGV[1] order (JSON)    ARGV[2] the order that was read (JSON), "" for none

  Output
    1   it is ordered
    0   there is another order, or no session
]]
local head = KEYS[1]
local order, read = ARGV[1], ARGV[2]

local known = redis.call("HGET", head, "undo") or ""
if known == order then
  return 1
end
if redis.call("EXISTS", head) == 0 or known ~= read then
  return 0
end
redis.call("HSET", head, "undo", order)
return 1
