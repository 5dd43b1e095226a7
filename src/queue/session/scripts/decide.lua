--[[
  Decides an open question, once: the first decision stays.

  KEYS[1] head

  ARGV[1] id of the question    ARGV[2] decision (JSON)

  Output
    1       decided now
    0       the question is not open
    (JSON)  decided before, in this way
]]
if redis.call("HEXISTS", KEYS[1], "question:" .. ARGV[1]) == 0 then
  return 0
end
local field = "decision:" .. ARGV[1]
if redis.call("HSETNX", KEYS[1], field, ARGV[2]) == 1 then
  return 1
end
return redis.call("HGET", KEYS[1], field)
