--[[
  Appends entries to the audit log, unless somebody else has appended since the caller looked.
  Applied once: a client that lost the answer with its connection sends the same entries again.

  KEYS[1] log: stream, the id of entry n is n-0    KEYS[2] head: hash of n and hash of the newest entry

  ARGV[1] number and ARGV[2] hash of the head that the caller saw
  ARGV[3] number of the first entry    ARGV[4] hash of the last entry
  ARGV[5] … the entries (JSON)

  Output {written, n, hash, top, tail}
    written  1: they are in the log; 0: not, the caller has to chain them to this head
    n, hash  the head
    top      the highest number that the stream has ever had
    tail     the newest entry in the stream; where all is in order it is the head's
]]
local head = redis.call("HMGET", KEYS[2], "n", "hash")
local n, hash = tonumber(head[1] or "0") or 0, head[2] or string.rep("0", 64)
if n < 0 or n % 1 ~= 0 then
  n = 0
end
local first = tonumber(ARGV[3])
local top = 0
if redis.call("EXISTS", KEYS[1]) == 1 then
  local info = redis.call("XINFO", "STREAM", KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == "last-generated-id" then
      top = tonumber(string.match(info[i + 1], "^%d+"))
    end
  end
end
if n ~= tonumber(ARGV[1]) or hash ~= ARGV[2] or first <= top then
  local last = (first + #ARGV - 5) .. "-0"
  local there = redis.call("XRANGE", KEYS[1], last, last)[1]
  local written = there and there[2][2] == ARGV[#ARGV]
  local tail = redis.call("XREVRANGE", KEYS[1], "+", "-", "COUNT", 1)[1]
  return { written and 1 or 0, n, hash, top, tail and tail[2][2] or "" }
end
for i = 5, #ARGV do
  redis.call("XADD", KEYS[1], (first + i - 5) .. "-0", "entry", ARGV[i])
end
n = first + #ARGV - 5
redis.call("HSET", KEYS[2], "n", n, "hash", ARGV[4])
return { 1, n, ARGV[4], n, "" }
