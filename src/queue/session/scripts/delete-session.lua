--[[
  Deletes the keys of a session, unless it has been claimed since or has something to do. Where it has background jobs,
  what is left of it is the order to stop them: the workers that run them know of nothing else that ends them.
  Idempotent: where nothing else of it is left, it is deleted.

  KEYS[1] head    KEYS[2] mail    KEYS[3] jobs    KEYS[4] stop
  then    all other keys of the session

  ARGV[1] epoch of the claim that whoever deletes it has made
  ARGV[2] seconds to keep the order    ARGV[3] channel on which the workers are told    ARGV[4] thread

  Output
    1  nothing is left of them
    0  nothing was deleted
]]
local head, mail, jobs, stop = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local epoch, keptSeconds, channel, thread = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local known = redis.call("HMGET", head, "epoch", "status")
local isClaimed = redis.call("EXISTS", head) == 1 and (known[1] ~= epoch or known[2] == "running")
if isClaimed or redis.call("LLEN", mail) > 0 then
  return 0
end
if redis.call("EXISTS", head) == 0 then
  return 1
end
-- No newer than the jobs, so that it ends nothing that people write there from now on.
local newest
for _, since in ipairs(redis.call("HVALS", jobs)) do
  if not newest or tonumber(since) > tonumber(newest) then
    newest = since
  end
end
for _, key in ipairs(KEYS) do
  redis.call("UNLINK", key)
end
if newest then
  redis.call("SET", stop, '{"by":"whoever deleted the thread","deleted":true,"at":' .. newest .. "}", "EX", keptSeconds)
  redis.call("PUBLISH", channel, thread)
end
return 1
