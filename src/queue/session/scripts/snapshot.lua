--[[
  Puts a snapshot that was staged in the place of the one before, unless somebody else has claimed the session.

  KEYS[1] head    KEYS[2] log    KEYS[3] staged    KEYS[4] snapshot

  ARGV[1] epoch of the caller
  ARGV[2] number of the write within the claim
  ARGV[3] how many records it stands for
  then    pairs of head field and value ("" removes the field), set with it

  Output
    1   it is kept, also by this call's first try
    0   it does not fit the log, and is dropped
    -1  fenced: a newer claim exists
]]
local head, log, staged, snapshot = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local epoch, position = ARGV[1], tonumber(ARGV[3])

if redis.call("HGET", head, "epoch") ~= epoch then
  redis.call("DEL", staged)
  return -1
end
if redis.call("LLEN", log) ~= position then
  redis.call("DEL", staged)
  return 0
end
if redis.call("EXISTS", staged) == 1 then
  redis.call("RENAME", staged, snapshot)
  local left = redis.call("PTTL", head)
  if left > 0 then
    redis.call("PEXPIRE", snapshot, left)
  else
    redis.call("PERSIST", snapshot)
  end
  for at = 4, #ARGV, 2 do
    if ARGV[at + 1] == "" then
      redis.call("HDEL", head, ARGV[at])
    else
      redis.call("HSET", head, ARGV[at], ARGV[at + 1])
    end
  end
end
return 1
