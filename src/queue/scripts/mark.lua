--[[
  Raises the state of somebody's message. It never falls back: what comes late changes nothing.

  KEYS[1] state of the message: rank, colon, mark

  ARGV[1] mark    ARGV[2] its rank    ARGV[3] seconds to remember it

  Output: the mark that holds now
]]
local known = redis.call("GET", KEYS[1])
if not known or tonumber(known:match("^%d+")) < tonumber(ARGV[2]) then
  known = ARGV[2] .. ":" .. ARGV[1]
  redis.call("SET", KEYS[1], known, "EX", ARGV[3])
end
return known:match(":(.*)$")
