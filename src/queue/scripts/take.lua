--[[
  Moves what waits in the mailbox into the log. Messages that are older than the newest stop order are
  withdrawn: they are logged too, and marked as never to be shown to the model.

  KEYS[1] head    KEYS[2] log    KEYS[3] mail    KEYS[4] stop

  ARGV[1] epoch of the caller
  ARGV[2] record to log before the messages if any is taken (JSON of the turn's start), or ""
  ARGV[3] "0": only withdraw, and leave the others in the mailbox

  Output
    {taken, withdrawn}  two lists of records (JSON)
    -1                  fenced
]]
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then
  return -1
end
local stop = redis.call("GET", KEYS[4])
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
if ARGV[3] == "0" and #taken > 0 then
  redis.call("RPUSH", KEYS[3], unpack(taken))
  taken = {}
end
local length = tonumber(redis.call("HGET", KEYS[1], "length") or "0")
local function log(record)
  redis.call("RPUSH", KEYS[2], record)
  length = length + 1
end
for _, entry in ipairs(withdrawn) do
  log(entry)
  log(cjson.encode({ type = "withdrawn", id = cjson.decode(entry).message.id, reason = "stopped" }))
end
if #taken > 0 then
  if ARGV[2] ~= "" then
    log(ARGV[2])
    redis.call("HSET", KEYS[1], "status", "running")
  end
  for _, entry in ipairs(taken) do
    log(entry)
  end
end
redis.call("HSET", KEYS[1], "length", length)
return {taken, withdrawn}
