--[[
  Charges what a model call has used and gives back what was set aside for it.
  Idempotent: a client that lost the reply with its connection sends the same settlement again.

  KEYS[1] usage of the day: hash of `<subject> <measure>` to a number
  KEYS[2] present when this reservation was settled before
  then    the reservations of each budget (see reserve.lua)

  ARGV[1] reservation    ARGV[2] seconds to keep the day's usage    ARGV[3] number of subjects s, then s subjects
  then    pairs of measure and amount, an integer
]]
local usage, settled = KEYS[1], KEYS[2]
local reservation, keepSeconds, subjects = ARGV[1], ARGV[2], tonumber(ARGV[3])

for k = 3, #KEYS do
  redis.call("HDEL", KEYS[k], reservation)
end
if not redis.call("SET", settled, "1", "EX", 3600, "NX") then
  return
end
local firstAmount = 4 + subjects
for s = 4, firstAmount - 1 do
  local subject = ARGV[s]
  for a = firstAmount, #ARGV, 2 do
    local measure, amount = ARGV[a], ARGV[a + 1]
    if amount ~= "0" then
      redis.call("HINCRBY", usage, subject .. " " .. measure, amount)
    end
  end
end
redis.call("EXPIRE", usage, keepSeconds)
