--[[
  Claims a session, which fences every write of whoever held it before, and reads what the new holder begins with.
  Idempotent: a client that lost the reply with its connection gets it again for the same claim.

  KEYS[1] head    KEYS[2] log    KEYS[3] outbox    KEYS[4] stop    KEYS[5] snapshot
  then    the other keys that expire with the session

  ARGV[1] a name that no other claim has
  ARGV[2] seconds of silence after which the session expires, "" to leave that as it is
  ARGV[3] how many records, and how many messages of a snapshot, are read here
  ARGV[4] JSON of who claims it, "" for nobody who runs anything. Another one that it finds in the middle of a turn, which
          was not handed over, is noted in the head as `lost:<epoch>`: JSON {at, holder}
  ARGV[5] "1": only when nobody is at a turn, or died in one, and nothing is left to be shown. A turn that was handed over
          stays so, as whoever claims it thus runs nothing of it
  ARGV[6] ms, "" for not at all: another one that it finds in the middle of a turn, which was not handed over, and that
          has confirmed within this time that it is still at it, keeps the session

  Output
    -1  not claimed
    {epoch, stuck, fields, entries, order, length, snapshot, messages, isRead, records}
    epoch: greater than that of any earlier claim
    stuck: claims in a row, this one included, that found the log no longer than the one before.
           A worker that hands over (handover = 1) is not counted.
    fields, entries: of the head and of the outbox, names and values in turn
    order: the newest stop order (JSON) or ""
    length: of the log
    snapshot, messages: what describes the snapshot (JSON) or "", and its messages (JSON), none if they are more
    isRead: 1 when `records` (JSON) is all of the log that the snapshot does not stand for, 0 when that is longer
]]
-- @include time
-- @include decode
local head, log, outbox, stop, snapshot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local claim, expireSeconds, mostRecords, holder = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local onlyUnheld, graceMs = ARGV[5] == "1", tonumber(ARGV[6])

if redis.call("HGET", head, "claim") ~= claim then
  local last = redis.call("HMGET", head, "length", "claimedLength", "stuck", "handover", "status")
  local length, claimedLength, lastStuck, handover, status = last[1] or "0", last[2], last[3], last[4], last[5]
  local isHeld = status == "running" and handover ~= "1"
  -- Whoever shows something at this moment must not be fenced, or it is shown twice.
  if onlyUnheld and (isHeld or redis.call("EXISTS", outbox) == 1) then
    return -1
  end
  local held = redis.call("HMGET", head, "epoch", "holder", "holderEpoch", "confirmedAt")
  -- A worker of an earlier release claims without a word of who it is.
  local former = held[3] == held[1] and held[2]
  local now = timeMs()
  local confirmedAt = tonumber(held[4] or "")
  if graceMs and confirmedAt and isHeld and former and former ~= holder and now - confirmedAt < graceMs then
    return -1
  end
  local stuck = 1
  if status == "running" and claimedLength == length then
    stuck = tonumber(lastStuck or "0")
    if handover ~= "1" then
      stuck = stuck + 1
    end
  end
  -- The time, so that a Redis which was restored from a copy gives none again that workers have noted since the copy.
  local newEpoch = string.format("%.0f", math.max(tonumber(held[1] or "0") + 1, now))
  redis.call("HSET", head, "epoch", newEpoch)
  local claimedAt = string.format("%.0f", now)
  if holder and holder ~= "" then
    if isHeld and former ~= holder then
      local noted = former and ',"holder":' .. former or ""
      redis.call("HSET", head, "lost:" .. newEpoch, '{"at":' .. claimedAt .. noted .. "}")
    end
    redis.call("HSET", head, "holder", holder, "holderEpoch", newEpoch, "confirmedAt", claimedAt)
  end
  redis.call("HSET", head, "claimedAt", claimedAt)
  redis.call("HSET", head, "claim", claim, "claimedLength", length, "stuck", stuck)
  if not onlyUnheld then
    redis.call("HSET", head, "handover", "0")
  end
end
if expireSeconds ~= "" then
  for index, key in ipairs(KEYS) do
    -- An order has a time of its own.
    if index ~= 4 then
      redis.call("EXPIRE", key, expireSeconds)
    end
  end
end

local claimed = redis.call("HMGET", head, "epoch", "stuck")
local length = redis.call("LLEN", log)
local description = redis.call("LINDEX", snapshot, 0) or ""
local from, messages = 0, {}
if description ~= "" then
  from = tonumber(decode(description).position) or 0
  if redis.call("LLEN", snapshot) - 1 <= mostRecords then
    messages = redis.call("LRANGE", snapshot, 1, -1)
  end
end
local isRead, records = 0, {}
if length - from <= mostRecords then
  isRead, records = 1, redis.call("LRANGE", log, from, -1)
end
return {
  tonumber(claimed[1]),
  tonumber(claimed[2]),
  redis.call("HGETALL", head),
  redis.call("HGETALL", outbox),
  redis.call("GET", stop) or "",
  length,
  description,
  messages,
  isRead,
  records,
}
