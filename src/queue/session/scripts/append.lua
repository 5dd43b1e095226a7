--[[
  Appends records to a session's log and sets fields of its head, unless somebody else has claimed it.
  Applied once: a client that lost the answer with its connection sends the same write again.

  KEYS[1] head    KEYS[2] log    KEYS[3] outbox

  ARGV[1] epoch of the caller
  ARGV[2] number of the write within the claim
  ARGV[3] number of head fields f, then f pairs of field and value ("" removes the field)
  then    number of outbox entries o, then o pairs of key and JSON ("" removes the entry)
  then    number of entries done d, then d pairs of key and JSON: removed unless replaced meanwhile
  then    records (JSON)

  Output
    n >= 0  length of the log
    -1      fenced: a newer claim exists, nothing was written
]]
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then
  return -1
end
local length = tonumber(redis.call("HGET", KEYS[1], "length") or "0")
if redis.call("HGET", KEYS[1], "write") == ARGV[2] then
  return length
end
local i = 3
for _ = 1, tonumber(ARGV[i]) do
  if ARGV[i + 2] == "" then
    redis.call("HDEL", KEYS[1], ARGV[i + 1])
  else
    redis.call("HSET", KEYS[1], ARGV[i + 1], ARGV[i + 2])
  end
  i = i + 2
end
i = i + 1
for _ = 1, tonumber(ARGV[i]) do
  if ARGV[i + 2] == "" then
    redis.call("HDEL", KEYS[3], ARGV[i + 1])
  else
    redis.call("HSET", KEYS[3], ARGV[i + 1], ARGV[i + 2])
  end
  i = i + 2
end
i = i + 1
for _ = 1, tonumber(ARGV[i]) do
  if redis.call("HGET", KEYS[3], ARGV[i + 1]) == ARGV[i + 2] then
    redis.call("HDEL", KEYS[3], ARGV[i + 1])
  end
  i = i + 2
end
for r = i + 1, #ARGV do
  redis.call("RPUSH", KEYS[2], ARGV[r])
  length = length + 1
end
redis.call("HSET", KEYS[1], "length", length, "write", ARGV[2])
return length
