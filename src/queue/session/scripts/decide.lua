--[[
  Decides an open question, once: the first decision stays, and what is approved with it for the whole thread.

  KEYS[1] head

  ARGV[1] id of the question    ARGV[2] decision (JSON)
  then    field and value of each approval for the thread

  Output
    1       decided now
    0       the question is not open
    (JSON)  decided before, in this way
]]
local head = KEYS[1]
local question, decision = ARGV[1], ARGV[2]

if redis.call("HEXISTS", head, "question:" .. question) == 0 then
  return 0
end
local field = "decision:" .. question
if redis.call("HSETNX", head, field, decision) == 1 then
  if #ARGV > 2 then
    redis.call("HSET", head, unpack(ARGV, 3))
  end
  return 1
end
return redis.call("HGET", head, field)
