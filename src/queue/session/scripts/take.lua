--[[
  Logs the caller's records, then moves what waits in the mailbox into the log: as much of it as one request may have,
  the rest stays for the next time. Messages that are older than the newest stop order are withdrawn: they are logged too,
  and marked as never to be shown to the model. What people without permission wrote since is added to the last of the others: until now they could edit and delete it.
  What is no message that a script can read is logged as it is, and stands in the conversation as a message of Heddle's
  that says so.
  Idempotent: a client that lost the reply with its connection gets it again for the same write.

  KEYS[1] head    KEYS[2] log    KEYS[3] mail    KEYS[4] stop
  KEYS[5] asked: set of the ids of the messages that the running turn works on
  KEYS[6] overheard

  ARGV[1] epoch of the caller
  ARGV[2] number of the write within the claim
  ARGV[3] number of hints h, then h pairs of channel and message, which are published
  then    record to log before the messages if any is taken (JSON of the turn's start), or ""
  then    "0": only withdraw, and leave the others in the mailbox
  then    how many messages are taken at most, and of how many bytes together, one at least
  then    records to log first (JSON)

  Output
    {taken, withdrawn, stop, logged}  two lists of records (JSON), the newest stop order (JSON) or "", and all that
                                      was logged behind the caller's records (JSON)
    -1                                fenced
]]
-- @include decode
-- @include time
-- @include publish-hints
local head, log, mail, stop, asked, overheard = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local epoch, write = ARGV[1], ARGV[2]

local known = redis.call("HMGET", head, "epoch", "write", "before")
if known[1] ~= epoch then
  return -1
end
local order = redis.call("GET", stop)

local function messageIn(entry)
  local record = decode(entry)
  local message = record.type == "user" and type(record.message) == "table" and record.message or {}
  return type(message.id) == "string" and type(message.at) == "number" and message or nil
end

local function isQuote(quote)
  return type(quote) == "table" and type(quote.text) == "string" and type(quote.at) == "number"
    and type(quote.author) == "table" and type(quote.author.id) == "string" and type(quote.author.name) == "string"
end

-- Of the same words as in stored.ts. It is no message on the platform, which nobody could mark or edit.
local function standIn(entry)
  redis.call("RPUSH", log, entry)
  local text = "(Here stood a message that cannot be read. Tell people so, and ask them to send it again.)"
  local id = "unreadable~" .. redis.call("LLEN", log)
  local author = { id = "heddle", name = "Heddle" }
  local message = { role = "user", id = id, author = author, text = text, at = timeMs(), scheduled = true }
  return cjson.encode({ type = "user", message = message })
end

local function withOverheard(entry)
  local quotes = redis.call("LRANGE", overheard, 0, -1)
  if #quotes == 0 then
    return entry
  end
  redis.call("DEL", overheard)
  local record = cjson.decode(entry)
  local enclosed = type(record.message.enclosed) == "table" and record.message.enclosed or {}
  local readable = {}
  for _, stored in ipairs(quotes) do
    local quote = decode(stored).quote
    if isQuote(quote) then
      readable[#readable + 1] = quote
    else
      redis.call("RPUSH", log, stored)
    end
  end
  if #readable == 0 then
    return entry
  end
  enclosed.overheard = readable
  record.message.enclosed = enclosed
  return cjson.encode(record)
end

local function move(start, takes, mostMessages, mostBytes)
  local stopped = order and decode(order) or {}
  local stoppedAt, stoppedSeq = tonumber(stopped.at) or -1, tonumber(stopped.seq)
  -- The same rule as in stops.ts: what came in the same instant is older if it was taken before the order.
  local function isStopped(message)
    if message.at ~= stoppedAt or type(message.seq) ~= "number" or not stoppedSeq then
      return message.at <= stoppedAt
    end
    return message.seq < stoppedSeq
  end
  local taken, withdrawn, left, bytes = {}, {}, {}, 0
  -- Without an order nothing behind those that are taken has to be looked at.
  local entries = redis.call("LRANGE", mail, 0, order and -1 or mostMessages - 1)
  if #entries == 0 then
    return
  end
  for _, entry in ipairs(entries) do
    local message = messageIn(entry)
    local fits = #taken < mostMessages and (#taken == 0 or bytes + #entry <= mostBytes)
    if message and isStopped(message) then
      withdrawn[#withdrawn + 1] = entry
    elseif takes and fits and #left == 0 then
      taken[#taken + 1] = entry
      bytes = bytes + #entry
    else
      left[#left + 1] = entry
    end
  end
  if order then
    redis.call("DEL", mail)
    for _, entry in ipairs(left) do
      redis.call("RPUSH", mail, entry)
    end
  else
    redis.call("LTRIM", mail, #taken, -1)
  end
  for _, entry in ipairs(withdrawn) do
    bytes = bytes + #entry
  end
  -- See deliver.lua, which begins anew with an empty mailbox.
  if bytes > 0 then
    redis.call("HINCRBY", head, "mailBytes", -bytes)
  end
  for _, entry in ipairs(withdrawn) do
    redis.call("RPUSH", log, entry)
    local id = messageIn(entry).id
    redis.call("RPUSH", log, cjson.encode({ type = "withdrawn", id = id, reason = "stopped" }))
  end
  if #taken > 0 and start ~= "" then
    redis.call("RPUSH", log, start)
    redis.call("HSET", head, "status", "running")
    redis.call("DEL", asked)
  end
  for index, entry in ipairs(taken) do
    taken[index] = messageIn(entry) and entry or standIn(entry)
  end
  if #taken > 0 then
    taken[#taken] = withOverheard(taken[#taken])
  end
  for _, entry in ipairs(taken) do
    redis.call("RPUSH", log, entry)
    redis.call("SADD", asked, messageIn(entry).id)
  end
end

local before = tonumber(known[3])
if known[2] ~= write then
  local behind = publishHints(3)
  local start, takes = ARGV[behind], ARGV[behind + 1] == "1"
  local mostMessages, mostBytes = tonumber(ARGV[behind + 2]), tonumber(ARGV[behind + 3])
  for record = behind + 4, #ARGV do
    redis.call("RPUSH", log, ARGV[record])
  end
  before = redis.call("LLEN", log)
  move(start, takes, mostMessages, mostBytes)
  redis.call("HSET", head, "length", redis.call("LLEN", log), "write", write, "before", before)
end

local taken, withdrawn = {}, {}
local logged = redis.call("LRANGE", log, before, -1)
for _, entry in ipairs(logged) do
  if messageIn(entry) then
    taken[#taken + 1] = entry
  elseif decode(entry).type == "withdrawn" then
    withdrawn[#withdrawn + 1] = table.remove(taken)
  end
end
return { taken, withdrawn, order or "", logged }
