--[[
  Takes a slot in each of the places, or in none. A place is a sorted set of threads by the time at which their
  slot expires. Whoever has a slot already keeps it. A person who finds places full waits in the queue of the last of
  them, the narrowest, and free slots go to those who wait there, in order. Nobody waits in two queues, so that one
  person's many turns do not hold up other people's. Scheduled turns come after all of them.

  KEYS    the places, from the widest to the narrowest; then for each its queue: sorted set of threads by since when
          they wait; then for each sorted set of these threads by when they are forgotten

  ARGV[1] thread    ARGV[2] ms until the slot is given up for lost
  ARGV[3] since when a person waits in the thread, ms; "" when nobody does
  ARGV[4] ms after which one who waits and does not ask again is forgotten
  ARGV[5] "1" where a turn runs already: it has its slots back although they expired and others have entered since
  ARGV[6] … the number of slots in each place

  Output
    1  in
    0  one of the places is full
]]
-- @include time
local places = #KEYS / 3
local thread, lostMs, since, waitingMs = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local runs = ARGV[5] == "1"

-- The keys of one place, and how many slots it has.
local function placeAt(index)
  return KEYS[index], KEYS[places + index], KEYS[2 * places + index], tonumber(ARGV[index + 5])
end

local now = timeMs()
local full = 0
for index = 1, places do
  local place, queue, asked, slots = placeAt(index)
  redis.call("ZREMRANGEBYSCORE", place, "-inf", now)
  for _, gone in ipairs(redis.call("ZRANGEBYSCORE", asked, "-inf", now)) do
    redis.call("ZREM", queue, gone)
    redis.call("ZREM", asked, gone)
  end
  local before = redis.call("ZCARD", queue)
  if since then
    -- It may stand there since before the turn that it asks for now.
    since = math.min(since, tonumber(redis.call("ZSCORE", queue, thread) or since))
    before = redis.call("ZCOUNT", queue, "-inf", "(" .. since)
  end
  local taken = redis.call("ZCARD", place)
  if not runs and not redis.call("ZSCORE", place, thread) and taken + before >= slots then
    full = index
  end
end
for index = 1, places do
  local place, queue, asked = placeAt(index)
  if full == 0 then
    redis.call("ZADD", place, now + lostMs, thread)
    redis.call("PEXPIRE", place, lostMs)
  end
  if full == index and since then
    redis.call("ZADD", queue, since, thread)
    redis.call("ZADD", asked, now + waitingMs, thread)
    redis.call("PEXPIRE", queue, waitingMs)
    redis.call("PEXPIRE", asked, waitingMs)
  else
    redis.call("ZREM", queue, thread)
    redis.call("ZREM", asked, thread)
  end
end
return full == 0 and 1 or 0
