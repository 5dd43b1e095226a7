--[[
  Logs the caller's records, then moves what waits in the mailbox into the log. Messages that are older than the
  newest stop order are withdrawn: they are logged too, and marked as never to be shown to the model. What people
  without permission wrote since is added to the last of the others: until now they could edit and delete it.
  Idempotent: a client that lost the reply with its connection gets it again for the same write.

  KEYS[1] head    KEYS[2] log    KEYS[3] mail    KEYS[4] stop
  KEYS[5] asked: set of the ids of the messages that the running turn works on
  KEYS[6] overheard

  ARGV[1] epoch of the caller
  ARGV[2] number of the write within the claim
  ARGV[3] number of hints h, then h pairs of channel and message, which are published
  then    record to log before the messages if any is taken (JSON of the turn's start), or ""
  then    "0": only withdraw, and leave the others in the mailbox
  then    records to log first (JSON)

  Output
    {taken, withdrawn, stop, logged}  two lists of records (JSON), the newest stop order (JSON) or "", and all that
                                      was logged behind the caller's records (JSON)
    -1                                fenced
]]
-- @include publish-hints
local head, log, mail, stop, asked, overheard = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local epoch, write = ARGV[1], ARGV[2]

if redis.call("HGET", head, "epoch") ~= epoch then
  return -1
end
local order = redis.call("GET", stop)

local function withOverheard(entry)
  local quotes = redis.call("LRANGE", overheard, 0, -1)
  if #quotes == 0 then
    return entry
  end
  redis.call("DEL", overheard)
  local record = cjson.decode(entry)
  local enclosed = record.message.enclosed or {}
  enclosed.overheard = {}
  for index, heard in ipairs(quotes) do
    enclosed.overheard[index] = cjson.decode(heard).quote
  end
  record.message.enclosed = enclosed
  return cjson.encode(record)
end

local function move(start, takesAll)
  local stoppedAt = order and cjson.decode(order).at or -1
  local taken, withdrawn = {}, {}
  for _, entry in ipairs(redis.call("LRANGE", mail, 0, -1)) do
    if cjson.decode(entry).message.at <= stoppedAt then
      withdrawn[#withdrawn + 1] = entry
    else
      taken[#taken + 1] = entry
    end
  end
  redis.call("DEL", mail)
  if not takesAll then
    for _, entry in ipairs(taken) do
      redis.call("RPUSH", mail, entry)
    end
    taken = {}
  end
  for _, entry in ipairs(withdrawn) do
    redis.call("RPUSH", log, entry)
    local id = cjson.decode(entry).message.id
    redis.call("RPUSH", log, cjson.encode({ type = "withdrawn", id = id, reason = "stopped" }))
  end
  if #taken > 0 and start ~= "" then
    redis.call("RPUSH", log, start)
    redis.call("HSET", head, "status", "running")
    redis.call("DEL", asked)
  end
  if #taken > 0 then
    taken[#taken] = withOverheard(taken[#taken])
  end
  for _, entry in ipairs(taken) do
    redis.call("RPUSH", log, entry)
    redis.call("SADD", asked, cjson.decode(entry).message.id)
  end
end

if redis.call("HGET", head, "write") ~= write then
  local behind = publishHints(3)
  local start, takesAll = ARGV[behind], ARGV[behind + 1] == "1"
  for record = behind + 2, #ARGV do
    redis.call("RPUSH", log, ARGV[record])
  end
  local before = redis.call("LLEN", log)
  move(start, takesAll)
  redis.call("HSET", head, "length", redis.call("LLEN", log), "write", write, "before", before)
end

local taken, withdrawn = {}, {}
local logged = redis.call("LRANGE", log, redis.call("HGET", head, "before"), -1)
for _, entry in ipairs(logged) do
  local type = cjson.decode(entry).type
  if type == "user" then
    taken[#taken + 1] = entry
  elseif type == "withdrawn" then
    withdrawn[#withdrawn + 1] = table.remove(taken)
  end
end
return { taken, withdrawn, order or "", logged }
