-- Keeps the order (JSON) to stop a thread unless a newer one is known: the newest by the platform's time wins.
local function keepNewestStop(stop, order, seconds)
  local newest = redis.call("GET", stop)
  if not newest or cjson.decode(newest).at < cjson.decode(order).at then
    newest = order
  end
  -- A Redis without memory refuses only a script's first write, and never a DEL: a stop must work then too.
  redis.call("DEL", stop)
  redis.call("SET", stop, newest, "EX", seconds)
end
