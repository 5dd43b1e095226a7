-- Publishes the hints that ride along with a write: ARGV[at] is their number, pairs of channel and message follow.
-- Returns where the arguments behind them begin.
local function publishHints(at)
  local behind = at + 1 + 2 * tonumber(ARGV[at])
  for hint = at + 1, behind - 1, 2 do
    redis.call("PUBLISH", ARGV[hint], ARGV[hint + 1])
  end
  return behind
end
