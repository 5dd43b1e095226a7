--[[
  Accepts a message once: drops a duplicate, else appends it to the thread's mailbox, with its number among the thread's
  messages and stops.

  KEYS[1] head    KEYS[2] mail    KEYS[3] seen

  ARGV[1] journal record of the message (JSON)
  ARGV[2] seconds to remember the message
  ARGV[3] "1": only when the thread has a session (follow-up without a mention)
  ARGV[4] time of acceptance, ms
  ARGV[5] of a bot: the most messages of bots without one of a person between them; "" for a person
  ARGV[6] how many messages may wait, and ARGV[7] of how many bytes together; "" for any number

  Output {result, questions, scheduled}
    result: n > 0  accepted; n - 1 messages wait before it, a running turn counting as one
            -1     duplicate
            -2     no session, or one in which the agent has only listened
            -3     too many messages of bots
            -4     too much waits
    questions: how many the thread has open; scheduled: how many of the messages that wait were scheduled, or do not
    address the agent, of the first and the last ones where many wait; 1 at least, as nobody has looked at the others
]]
local head, mail, seen = KEYS[1], KEYS[2], KEYS[3]
local record, seenSeconds, onlyIfSession, now, botLimit = ARGV[1], ARGV[2], ARGV[3] == "1", ARGV[4], ARGV[5]
local mostMessages, mostBytes = tonumber(ARGV[6]), tonumber(ARGV[7])
local lookedAt = 50

local function answer(result)
  local questions, scheduled = 0, 0
  for _, field in ipairs(redis.call("HKEYS", head)) do
    if string.sub(field, 1, 9) == "question:" then
      questions = questions + 1
    end
  end
  local function count(first, last)
    for _, entry in ipairs(redis.call("LRANGE", mail, first, last)) do
      -- Not decoded, as many may wait. Inside of a text the quotes would be escaped.
      if string.find(entry, '"scheduled":true', 1, true) or string.find(entry, '"unaddressed":true', 1, true) then
        scheduled = scheduled + 1
      end
    end
  end
  -- What this costs must not grow with what waits.
  if redis.call("LLEN", mail) <= 2 * lookedAt then
    count(0, -1)
  else
    count(0, lookedAt - 1)
    count(-lookedAt, -1)
    scheduled = math.max(1, scheduled)
  end
  return { result, questions, scheduled }
end

if redis.call("EXISTS", seen) == 1 then
  return answer(-1)
end
if onlyIfSession and (redis.call("EXISTS", head) == 0 or redis.call("HEXISTS", head, "listening") == 1) then
  return answer(-2)
end
if botLimit ~= "" and tonumber(redis.call("HGET", head, "bots") or "0") >= tonumber(botLimit) then
  return answer(-3)
end
local waits = redis.call("LLEN", mail)
local bytes = waits == 0 and 0 or tonumber(redis.call("HGET", head, "mailBytes") or "0")
if mostMessages and waits > 0 and (waits >= mostMessages or bytes + #record > mostBytes) then
  return answer(-4)
end
-- The first write needs memory: without any Redis refuses the script here, and nowhere later.
redis.call("SET", seen, "1", "EX", seenSeconds)
if not string.find(record, '"unaddressed":true', 1, true) then
  redis.call("HDEL", head, "listening")
elseif redis.call("EXISTS", head) == 0 then
  redis.call("HSET", head, "listening", "1")
end
redis.call("HSETNX", head, "created", now)
if botLimit == "" then
  redis.call("HDEL", head, "bots")
else
  redis.call("HINCRBY", head, "bots", 1)
end
-- Spliced into the text: decoded and encoded again, an empty list would become an object.
local number = redis.call("HINCRBY", head, "seq", 1)
local entry = string.gsub(record, '"message":{', '%0"seq":' .. number .. ",", 1)
redis.call("HSET", head, "mailBytes", bytes + #entry)
local waiting = redis.call("RPUSH", mail, entry)
if redis.call("HGET", head, "status") == "running" then
  waiting = waiting + 1
end
return answer(waiting)
