-- Keeps the order (JSON) to stop a thread unless a newer one is known: the newest by the platform's time wins, of one
-- instant the one that came last, and one that cannot be read is older than any other. It gets its number among the
-- thread's messages and stops, and the time at which it was recorded; one that was told before (isRepeated) is not
-- newer than itself. Tells the workers, on ARGV[at], of the thread that ARGV[at + 1] names. Needs decode and time.
local function keepNewestStop(stop, order, seconds, head, isRepeated, at)
  local newest = redis.call("GET", stop)
  local orderAt, newestAt = tonumber(decode(order).at) or -1, newest and tonumber(decode(newest).at) or -1
  -- A Redis without memory refuses only a script's first write, and never a DEL: a stop must work then too.
  redis.call("DEL", stop)
  if not newest or newestAt < orderAt or (newestAt == orderAt and not isRepeated) then
    local stamp = '{"heardAt":' .. timeMs() .. ","
    if redis.call("EXISTS", head) == 1 then
      stamp = stamp .. '"seq":' .. redis.call("HINCRBY", head, "seq", 1) .. ","
    end
    newest = stamp .. string.sub(order, 2)
  end
  redis.call("SET", stop, newest, "EX", seconds)
  redis.call("PUBLISH", ARGV[at], ARGV[at + 1])
end
