--[[
  Takes a message that no turn has taken out of its thread's mailbox. Its author has not deleted it, so it stays accepted:
  told again by the platform it does not come back.
  Done once: a client that lost the reply with its connection is told that it was removed before.

  KEYS[1] head    KEYS[2] mail    KEYS[3] seen (of this removal)

  ARGV[1] id of the message    ARGV[2] seconds to remember the removal

  Output
    1  it waited and is gone
    2  it was removed before
    0  it does not wait
]]
-- @include decode
-- @include find-waiting
-- @include mail-size
local head, mail, seen = KEYS[1], KEYS[2], KEYS[3]
local message, seconds = ARGV[1], ARGV[2]

local entry = findWaiting(mail, message)
if not entry then
  return redis.call("EXISTS", seen) == 1 and 2 or 0
end
-- A Redis without memory refuses only a script's first write, and never an LREM.
removeEntry(head, mail, entry)
redis.call("SET", seen, "1", "EX", seconds)
return 1
