--[[
  Deletes the keys of a session, unless it has been claimed since or has something to do.
  Idempotent: where nothing of it is left, it is deleted.

  KEYS[1] head    KEYS[2] mail
  then    all other keys of the session

  ARGV[1] epoch of the claim that whoever deletes it has made

  Output
    1  nothing is left of them
    0  nothing was deleted
]]
local head, mail = KEYS[1], KEYS[2]
local epoch = ARGV[1]

local known = redis.call("HMGET", head, "epoch", "status")
local isClaimed = redis.call("EXISTS", head) == 1 and (known[1] ~= epoch or known[2] == "running")
if isClaimed or redis.call("LLEN", mail) > 0 then
  return 0
end
for _, key in ipairs(KEYS) do
  redis.call("UNLINK", key)
end
return 1
