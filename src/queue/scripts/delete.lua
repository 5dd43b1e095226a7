--[[
  Takes back a message that its author has deleted. A turn that works on nothing else is stopped.

  KEYS[1] head    KEYS[2] mail    KEYS[3] asked    KEYS[4] stop    KEYS[5] seen (of this deletion)

  ARGV[1] id of the message    ARGV[2] record that tells a turn of it (JSON)
  ARGV[3] stop order (JSON)    ARGV[4] seconds to remember the deletion and to keep the order

  Output
    1  it waited and is gone
    2  the running turn, which works on other messages too, will be told
    3  the running turn is to stop
    4  the same, and it was told before
    0  not a message that waits or is being worked on
]]
for _, entry in ipairs(redis.call("LRANGE", KEYS[2], 0, -1)) do
  if cjson.decode(entry).message.id == ARGV[1] then
    redis.call("LREM", KEYS[2], 1, entry)
    return 1
  end
end
if redis.call("HGET", KEYS[1], "status") ~= "running" or redis.call("SISMEMBER", KEYS[3], ARGV[1]) == 0 then
  return 0
end
-- A correction, or the note of a deletion, is about a message and no work of its own: `<message>~<time>`.
local others = 0
for _, id in ipairs(redis.call("SMEMBERS", KEYS[3])) do
  if id ~= ARGV[1] and not string.find(id, "~[%d.]+$") then
    others = others + 1
  end
end
if others == 0 and redis.call("LLEN", KEYS[2]) == 0 then
  local known = redis.call("GET", KEYS[4])
  if not known or cjson.decode(known).at < cjson.decode(ARGV[3]).at then
    redis.call("SET", KEYS[4], ARGV[3], "EX", ARGV[4])
  end
  return redis.call("SET", KEYS[5], "1", "NX", "EX", ARGV[4]) and 3 or 4
end
redis.call("SREM", KEYS[3], ARGV[1])
redis.call("RPUSH", KEYS[2], ARGV[2])
return 2
