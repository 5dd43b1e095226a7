-- Keeps the order (JSON) to stop a thread unless a newer one is known: the newest by the platform's time wins, of one
-- instant the one that came last, and one that cannot be read is older than any other. It gets its number among the
-- thread's messages and stops; one that was told before (isRepeated) is not newer than itself. Needs decode.
local function keepNewestStop(stop, order, seconds, head, isRepeated)
  local newest = redis.call("GET", stop)
  local at, newestAt = tonumber(decode(order).at) or -1, newest and tonumber(decode(newest).at) or -1
  -- A Redis without memory refuses only a script's first write, and never a DEL: a stop must work then too.
  redis.call("DEL", stop)
  if not newest or newestAt < at or (newestAt == at and not isRepeated) then
    newest = order
    if redis.call("EXISTS", head) == 1 then
      newest = '{"seq":' .. redis.call("HINCRBY", head, "seq", 1) .. "," .. string.sub(order, 2)
    end
  end
  redis.call("SET", stop, newest, "EX", seconds)
end
