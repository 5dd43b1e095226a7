--[[
  Keeps what somebody without permission wrote, once, where there is a session; or changes what is kept of it.

  KEYS[1] head    KEYS[2] seen    KEYS[3] overheard

  ARGV[1] id of the message    ARGV[2] id and quote (JSON), or "" to forget it
  ARGV[3] "1": only when it is kept (it was edited or deleted)
  ARGV[4] how many are kept, the newest
  ARGV[5] seconds to remember the message    ARGV[6] seconds to keep the quotes
]]
local head, seen, overheard = KEYS[1], KEYS[2], KEYS[3]
local message, quote, onlyKept = ARGV[1], ARGV[2], ARGV[3] == "1"
local most, seenSeconds, keptSeconds = ARGV[4], ARGV[5], ARGV[6]

if onlyKept then
  for index, entry in ipairs(redis.call("LRANGE", overheard, 0, -1)) do
    if cjson.decode(entry).message == message then
      if quote == "" then
        redis.call("LREM", overheard, 1, entry)
      else
        redis.call("LSET", overheard, index - 1, quote)
      end
      return
    end
  end
  return
end
if redis.call("EXISTS", head) == 0 or redis.call("EXISTS", seen) == 1 then
  return
end
redis.call("SET", seen, "1", "EX", seenSeconds)
redis.call("RPUSH", overheard, quote)
redis.call("LTRIM", overheard, -most, -1)
redis.call("EXPIRE", overheard, keptSeconds)
