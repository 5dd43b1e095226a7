--[[
  Takes back a message that its author has deleted. A turn that works on nothing else is stopped.
  Done once: a client that lost the reply with its connection is told that the deletion was told before.

  KEYS[1] head    KEYS[2] mail    KEYS[3] asked    KEYS[4] stop    KEYS[5] seen (of this deletion)

  ARGV[1] id of the message    ARGV[2] record that tells a turn of it (JSON)
  ARGV[3] stop order (JSON)    ARGV[4] seconds to remember the deletion and to keep the order
  ARGV[5] channel on which the workers are told of the stop    ARGV[6] thread

  Output
    1  it waited and is gone
    2  the running turn, which works on other messages too, will be told
    3  the running turn is to stop
    4  one of these, and it was told before
    0  not a message that waits or is being worked on
]]
-- @include decode
-- @include find-waiting
-- @include find-correction
-- @include mail-size
-- @include time
-- @include newest-stop
local head, mail, asked, stop, seen = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local message, note, order, seconds = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local entry = findWaiting(mail, message)
if entry then
  removeEntry(head, mail, entry)
  redis.call("SET", seen, "1", "EX", seconds)
  return 1
end
if redis.call("HGET", head, "status") ~= "running" or redis.call("SISMEMBER", asked, message) == 0 then
  return redis.call("EXISTS", seen) == 1 and 4 or 0
end
-- Nobody needs the new text of a message that is gone, and it is no other work either.
local correction = findCorrection(mail, message)
if correction then
  removeEntry(head, mail, correction)
end
-- A correction, or the note of a deletion, is about a message and no work of its own: `<message>~<time>`.
local others = 0
for _, id in ipairs(redis.call("SMEMBERS", asked)) do
  if id ~= message and not string.find(id, "~[%d.]+$") then
    others = others + 1
  end
end
if others == 0 and redis.call("LLEN", mail) == 0 then
  keepNewestStop(stop, order, seconds, head, redis.call("EXISTS", seen) == 1, 5)
  return redis.call("SET", seen, "1", "NX", "EX", seconds) and 3 or 4
end
redis.call("SREM", asked, message)
addEntry(head, mail, note)
redis.call("SET", seen, "1", "EX", seconds)
return 2
