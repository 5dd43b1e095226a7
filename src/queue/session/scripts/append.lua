--[[
  Appends records to a session's log and sets fields of its head, unless somebody else has claimed it.
  Idempotent: a client that lost the reply with its connection sends the same write again.

  KEYS[1] head    KEYS[2] log    KEYS[3] outbox
  KEYS[4] asked: set of the ids of the messages that the running turn works on

  ARGV[1] epoch of the caller
  ARGV[2] number of the write within the claim
  ARGV[3] number of hints h, then h pairs of channel and message, which are published
  then    number of head fields f, then f pairs of field and value ("" removes the field)
  then    number of outbox entries o, then o pairs of key and JSON ("" removes the entry)
  then    number of entries done d, then d pairs of key and JSON: removed unless replaced meanwhile
  then    number of messages m that a turn begins with by this write (0: none begins), then their ids
  then    records (JSON)

  Output
    n >= 0  length of the log
    -1      fenced: a newer claim exists, nothing was written
]]
-- @include publish-hints
local head, log, outbox, asked = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local epoch, write = ARGV[1], ARGV[2]

local known = redis.call("HMGET", head, "epoch", "length", "write")
if known[1] ~= epoch then
  return -1
end
local length = tonumber(known[2] or "0")
if known[3] == write then
  return length
end

-- Calls back with each pair of the list that begins with its number at ARGV[at]. Returns where the next one begins.
local function eachPair(at, apply)
  local behind = at + 1 + 2 * tonumber(ARGV[at])
  for pair = at + 1, behind - 1, 2 do
    apply(ARGV[pair], ARGV[pair + 1])
  end
  return behind
end

local function setIn(hash)
  return function(field, value)
    if value == "" then
      redis.call("HDEL", hash, field)
    else
      redis.call("HSET", hash, field, value)
    end
  end
end

local function removeDone(key, entry)
  if redis.call("HGET", outbox, key) == entry then
    redis.call("HDEL", outbox, key)
  end
end

local fields = publishHints(3)
local entries = eachPair(fields, setIn(head))
local done = eachPair(entries, setIn(outbox))
local messages = eachPair(done, removeDone)
local records = messages + 1 + tonumber(ARGV[messages])
if records > messages + 1 then
  redis.call("DEL", asked)
end
for message = messages + 1, records - 1 do
  redis.call("SADD", asked, ARGV[message])
end
for record = records, #ARGV do
  length = redis.call("RPUSH", log, ARGV[record])
end
redis.call("HSET", head, "length", length, "write", write)
return length
