--[[
  Accepts a message once: drops a duplicate, else appends it to the thread's mailbox.

  KEYS[1] head    KEYS[2] mail    KEYS[3] seen

  ARGV[1] journal record of the message (JSON)
  ARGV[2] seconds to remember the message
  ARGV[3] "1": only when the thread has a session (follow-up without a mention)
  ARGV[4] time of acceptance, ms
  ARGV[5] of a bot: the most messages of bots without one of a person between them; "" for a person

  Output
    n > 0  accepted; n - 1 messages wait before it, a running turn counting as one
    -1     duplicate
    -2     no session
    -3     too many messages of bots
]]
if redis.call("EXISTS", KEYS[3]) == 1 then
  return -1
end
if ARGV[3] == "1" and redis.call("EXISTS", KEYS[1]) == 0 then
  return -2
end
if ARGV[5] ~= "" and tonumber(redis.call("HGET", KEYS[1], "bots") or "0") >= tonumber(ARGV[5]) then
  return -3
end
-- The first write needs memory: without any Redis refuses the script here, and nowhere later.
redis.call("SET", KEYS[3], "1", "EX", ARGV[2])
redis.call("HSETNX", KEYS[1], "created", ARGV[4])
if ARGV[5] == "" then
  redis.call("HDEL", KEYS[1], "bots")
else
  redis.call("HINCRBY", KEYS[1], "bots", 1)
end
local waiting = redis.call("RPUSH", KEYS[2], ARGV[1])
if redis.call("HGET", KEYS[1], "status") == "running" then
  waiting = waiting + 1
end
return waiting
