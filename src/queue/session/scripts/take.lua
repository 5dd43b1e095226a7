--[[
  Logs the caller's records, then moves what waits in the mailbox into the log. Messages that are older than the newest stop order are
  withdrawn: they are logged too, and marked as never to be shown to the model. What was overheard since goes along
  with the last of the others: until now its authors could change it and take it back.
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

local function withOverheard(entry)
  local overheard = redis.call("LRANGE", KEYS[6], 0, -1)
  if #overheard == 0 then
    return entry
  end
  redis.call("DEL", KEYS[6])
  local record = cjson.decode(entry)
  local enclosed = record.message.enclosed or {}
  enclosed.overheard = {}
  for index, heard in ipairs(overheard) do
    enclosed.overheard[index] = cjson.decode(heard).quote
  end
  record.message.enclosed = enclosed
  return cjson.encode(record)
end

local function move()
  local stoppedAt = stop and cjson.decode(stop).at or -1
  local taken, withdrawn = {}, {}
  for _, entry in ipairs(redis.call("LRANGE", KEYS[3], 0, -1)) do
    if cjson.decode(entry).message.at <= stoppedAt then
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
    local id = cjson.decode(entry).message.id
    redis.call("RPUSH", KEYS[2], cjson.encode({ type = "withdrawn", id = id, reason = "stopped" }))
  end
  if #taken > 0 and ARGV[3] ~= "" then
    redis.call("RPUSH", KEYS[2], ARGV[3])
    redis.call("HSET", KEYS[1], "status", "running")
    redis.call("DEL", KEYS[5])
  end
  if #taken > 0 then
    taken[#taken] = withOverheard(taken[#taken])
  end
  for _, entry in ipairs(taken) do
    redis.call("RPUSH", KEYS[2], entry)
    redis.call("SADD", KEYS[5], cjson.decode(entry).message.id)
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
  local type = cjson.decode(entry).type
  if type == "user" then
    taken[#taken + 1] = entry
  elseif type == "withdrawn" then
    withdrawn[#withdrawn + 1] = table.remove(taken)
  end
end
return { taken, withdrawn, stop or "" }
