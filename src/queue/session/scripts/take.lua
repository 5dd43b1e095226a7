--[[
  Logs the caller's records, then moves what waits in the mailbox into the log. Messages that are older than the newest stop order are
  withdrawn: they are logged too, and marked as never to be shown to the model. What was overheard since goes along
  with the last of the others: until now its authors could change it and take it back.
  What is no message that a script can read is logged as it is, and stands in the conversation as a message of Heddle's
  that says so.
  Applied once: a client that lost the answer with its connection gets it again for the same write.

  KEYS[1] head    KEYS[2] log    KEYS[3] mail    KEYS[4] stop
  KEYS[5] asked: set of the ids of the messages that the running turn works on
  KEYS[6] overheard

  ARGV[1] epoch of the caller
  ARGV[2] number of the write within the claim
  ARGV[3] record to log before the messages if any is taken (JSON of the turn's start), or ""
  ARGV[4] "0": only withdraw, and leave the others in the mailbox
  then    records to log first (JSON)

  Output
    {taken, withdrawn, stop}  two lists of records (JSON), and the newest stop order (JSON) or ""
    -1                        fenced
]]
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then
  return -1
end
local stop = redis.call("GET", KEYS[4])

-- A script reads only what it must know; what tells not even that stays as it is.
local function decoded(json)
  local ok, value = pcall(cjson.decode, json)
  return ok and type(value) == "table" and value or {}
end

local function messageIn(entry)
  local record = decoded(entry)
  local message = record.type == "user" and type(record.message) == "table" and record.message or {}
  return type(message.id) == "string" and type(message.at) == "number" and message or nil
end

local function isQuote(quote)
  return type(quote) == "table" and type(quote.text) == "string" and type(quote.at) == "number"
    and type(quote.author) == "table" and type(quote.author.id) == "string" and type(quote.author.name) == "string"
end

-- Of the same words as in stored.ts. It is no message on the platform, which nobody could mark or edit.
local function standIn(entry)
  redis.call("RPUSH", KEYS[2], entry)
  local time = redis.call("TIME")
  local at = time[1] * 1000 + math.floor(time[2] / 1000)
  local text = "(Here stood a message that cannot be read. Tell people so, and ask them to send it again.)"
  local id = "unreadable~" .. redis.call("LLEN", KEYS[2])
  local author = { id = "heddle", name = "Heddle" }
  local message = { role = "user", id = id, author = author, text = text, at = at, scheduled = true }
  return cjson.encode({ type = "user", message = message })
end

local function withOverheard(entry)
  local overheard = redis.call("LRANGE", KEYS[6], 0, -1)
  if #overheard == 0 then
    return entry
  end
  redis.call("DEL", KEYS[6])
  local record = cjson.decode(entry)
  local enclosed = type(record.message.enclosed) == "table" and record.message.enclosed or {}
  local quotes = {}
  for _, heard in ipairs(overheard) do
    local quote = decoded(heard).quote
    if isQuote(quote) then
      quotes[#quotes + 1] = quote
    else
      redis.call("RPUSH", KEYS[2], heard)
    end
  end
  if #quotes == 0 then
    return entry
  end
  enclosed.overheard = quotes
  record.message.enclosed = enclosed
  return cjson.encode(record)
end

local function move()
  local stoppedAt = stop and tonumber(decoded(stop).at) or -1
  local taken, withdrawn = {}, {}
  for _, entry in ipairs(redis.call("LRANGE", KEYS[3], 0, -1)) do
    local message = messageIn(entry)
    if message and message.at <= stoppedAt then
      withdrawn[#withdrawn + 1] = entry
    else
      taken[#taken + 1] = entry
    end
  end
  redis.call("DEL", KEYS[3])
  if ARGV[4] == "0" then
    for _, entry in ipairs(taken) do
      redis.call("RPUSH", KEYS[3], entry)
    end
    taken = {}
  end
  for _, entry in ipairs(withdrawn) do
    redis.call("RPUSH", KEYS[2], entry)
    local id = messageIn(entry).id
    redis.call("RPUSH", KEYS[2], cjson.encode({ type = "withdrawn", id = id, reason = "stopped" }))
  end
  if #taken > 0 and ARGV[3] ~= "" then
    redis.call("RPUSH", KEYS[2], ARGV[3])
    redis.call("HSET", KEYS[1], "status", "running")
    redis.call("DEL", KEYS[5])
  end
  for index, entry in ipairs(taken) do
    taken[index] = messageIn(entry) and entry or standIn(entry)
  end
  if #taken > 0 then
    taken[#taken] = withOverheard(taken[#taken])
  end
  for _, entry in ipairs(taken) do
    redis.call("RPUSH", KEYS[2], entry)
    redis.call("SADD", KEYS[5], messageIn(entry).id)
  end
end

if redis.call("HGET", KEYS[1], "write") ~= ARGV[2] then
  for r = 5, #ARGV do
    redis.call("RPUSH", KEYS[2], ARGV[r])
  end
  local before = redis.call("LLEN", KEYS[2])
  move()
  redis.call("HSET", KEYS[1], "length", redis.call("LLEN", KEYS[2]), "write", ARGV[2], "before", before)
end

local taken, withdrawn = {}, {}
for _, entry in ipairs(redis.call("LRANGE", KEYS[2], redis.call("HGET", KEYS[1], "before"), -1)) do
  if messageIn(entry) then
    taken[#taken + 1] = entry
  elseif decoded(entry).type == "withdrawn" then
    withdrawn[#withdrawn + 1] = table.remove(taken)
  end
end
return { taken, withdrawn, stop or "" }
