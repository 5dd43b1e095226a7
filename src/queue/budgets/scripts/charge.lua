--[[
  Books what a model call has used and gives back what was set aside for it.
  Applied once: a client that lost the answer with its connection sends the same settlement again.

  KEYS[1] usage of the day: hash of `<subject> <measure>` to a number
  KEYS[2] present when this reservation was settled before
  then    the reservations of each budget (see reserve.lua)

  ARGV[1] reservation    ARGV[2] seconds to keep the day's usage    ARGV[3] number of subjects s, then s subjects
  then    pairs of measure and amount, an integer
]]
for k = 3, #KEYS do
  redis.call("HDEL", KEYS[k], ARGV[1])
end
if not redis.call("SET", KEYS[2], "1", "EX", 3600, "NX") then
  return
end
local subjects = tonumber(ARGV[3])
for s = 4, 3 + subjects do
  for a = 4 + subjects, #ARGV, 2 do
    if ARGV[a + 1] ~= "0" then
      redis.call("HINCRBY", KEYS[1], ARGV[s] .. " " .. ARGV[a], ARGV[a + 1])
    end
  end
end
redis.call("EXPIRE", KEYS[1], ARGV[2])
