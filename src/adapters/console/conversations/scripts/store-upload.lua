--[[
  Stores a file that somebody sends to a console thread. The thread's other files never live shorter for it.

  KEYS[1]  hash of the thread's files: `<file> about` and `<file> data`

  ARGV[1]  file
  ARGV[2]  JSON of what it is
  ARGV[3]  its bytes
  ARGV[4]  milliseconds for which it is held
]]
local files, file, life = KEYS[1], ARGV[1], tonumber(ARGV[4])
local left = redis.call("PTTL", files)
redis.call("HSET", files, file .. " about", ARGV[2], file .. " data", ARGV[3])
if left < life then
  redis.call("PEXPIRE", files, life)
end
return 1
