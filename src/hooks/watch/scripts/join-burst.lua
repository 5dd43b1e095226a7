--[[
  Settles which thread a message of a watched channel goes to: that of the messages shortly before it, or its own.
  Called again for the same message it names the same thread, and the time that holds by then.

  KEYS[1] chosen: the thread of this message
  KEYS[2] burst: hash of the messages in a row that are being gathered: thread, when the first one came, and until when

  ARGV[1] the message's own thread    ARGV[2] now, ms    ARGV[3] when its turn may begin, ms
  ARGV[4] how long after the first one the turn begins at the latest, ms; "" for no limit
  ARGV[5] seconds to remember the message

  Output {thread, at, before}: when the turn begins, ms, and when it would have begun without this message; -1 where none
  would have
]]
local chosen, burst = KEYS[1], KEYS[2]
local own, now, at, most, seenSeconds = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local gathered = redis.call("HMGET", burst, "thread", "since", "till")
local thread, since, till = gathered[1], tonumber(gathered[2] or ""), tonumber(gathered[3] or "")
local isGathering = thread and since and till and till > now
local known = redis.call("GET", chosen)
if known then
  local isAmongThese = isGathering and thread == known
  return { known, isAmongThese and till or at, isAmongThese and till or -1 }
end
if not isGathering then
  thread, since, till = own, now, -1
end
local latest = most and math.min(at, since + most) or at
redis.call("HSET", burst, "thread", thread, "since", since, "till", latest)
redis.call("PEXPIRE", burst, math.max(1, latest - now))
redis.call("SET", chosen, thread, "EX", seenSeconds)
return { thread, latest, till }
