--[[
  Lists a file that the agent shared in a console thread, and takes off the list what must make room for it, the
  oldest first: its thread's files, then those of all.

  KEYS[1]  sorted set of the shared files: `<thread>.<message>.<bytes>` by when they were shared, ms

  ARGV[1]  now, ms
  ARGV[2]  thread
  ARGV[3]  message
  ARGV[4]  its bytes
  ARGV[5]  most bytes of one thread
  ARGV[6]  most bytes of all threads
  ARGV[7]  milliseconds for which a file is kept

  Output: the members that were taken off
]]
local shared, now, thread = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local mostOfThread, mostOfAll, life = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local own = thread .. "." .. ARGV[3] .. "." .. ARGV[4]

redis.call("ZADD", shared, now, own)
redis.call("PEXPIRE", shared, life)

local files, ofThread, ofAll = {}, 0, 0
local members = redis.call("ZRANGE", shared, 0, -1, "WITHSCORES")
for i = 1, #members, 2 do
  local owner, size = string.match(members[i], "^(%w+)%.%w+%.(%d+)$")
  local file = { member = members[i], at = tonumber(members[i + 1]), bytes = tonumber(size), isOfThread = owner == thread }
  table.insert(files, file)
  ofAll = ofAll + file.bytes
  if file.isOfThread then
    ofThread = ofThread + file.bytes
  end
end

local taken = {}
for _, file in ipairs(files) do
  local isOld = file.at <= now - life
  local isInTheWay = ofAll > mostOfAll or (file.isOfThread and ofThread > mostOfThread)
  if file.member ~= own and (isOld or isInTheWay) then
    redis.call("ZREM", shared, file.member)
    table.insert(taken, file.member)
    ofAll = ofAll - file.bytes
    if file.isOfThread then
      ofThread = ofThread - file.bytes
    end
  end
end
return taken
