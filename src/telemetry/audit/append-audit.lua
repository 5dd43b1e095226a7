--[[
  Appends entries to the audit log, unless somebody else has appended since the caller looked.
  Applied once: a client that lost the answer with its connection sends the same entries again.

  KEYS[1] log: stream, the id of entry n is n-0    KEYS[2] head: hash of n and hash of the newest entry

  ARGV[1] number of the first entry    ARGV[2] hash of the entry before it
  ARGV[3] hash of the last entry
  ARGV[4] … the entries (JSON)

  Output {written, n, hash}
    written  1: they are in the log; 0: not, the caller has to chain them to this head
    n, hash  the head
]]
local head = redis.call("HMGET", KEYS[2], "n", "hash")
local n, hash = tonumber(head[1] or "0"), head[2] or string.rep("0", 64)
local first = tonumber(ARGV[1])
if n + 1 ~= first or hash ~= ARGV[2] then
  local there = redis.call("XRANGE", KEYS[1], first .. "-0", first .. "-0")[1]
  local written = there and there[2][2] == ARGV[4]
  return { written and 1 or 0, n, hash }
end
for i = 4, #ARGV do
  n = n + 1
  redis.call("XADD", KEYS[1], n .. "-0", "entry", ARGV[i])
end
redis.call("HSET", KEYS[2], "n", n, "hash", ARGV[3])
return { 1, n, ARGV[3] }
