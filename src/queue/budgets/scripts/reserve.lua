--[[
  Sets aside what a model call may use in each budget of a day that concerns it, or in none of them. Called again
  with the same reservation it keeps it alive. One whose worker died lapses.

  KEYS[1] usage of the day: hash of `<subject> <measure>` to a number
  KEYS[2] set of the subjects whose people were warned
  then, for each budget: its reservations (hash of id to `<until, ms> <cost> <tokens>`), and the set of its extensions

  ARGV[1] reservation    ARGV[2] ms until it lapses    ARGV[3] cost    ARGV[4] tokens
  ARGV[5] percent of a budget that an extension adds   ARGV[6] percent of it at which to warn
  then, for each budget: its subject, its limit of cost, its limit of tokens ("" for none)

  Output
    {"held", n, measure, limit, ...}     set aside; the n-th budget and others have just come so far that people
                                         are to be warned
    {"refused", n, measure, limit}       the n-th budget has no room; nothing was set aside
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local id = ARGV[1]
local wanted = { cost = tonumber(ARGV[3]), tokens = tonumber(ARGV[4]) }
local measures = { "cost", "tokens" }
local tokenKinds = { "input", "output", "cacheRead", "cacheWrite" }
local keepMs = 172800000

local function figure(subject, measure)
  return tonumber(redis.call("HGET", KEYS[1], subject .. " " .. measure) or "0")
end

local function used(subject)
  local tokens = 0
  for _, kind in ipairs(tokenKinds) do
    tokens = tokens + figure(subject, kind)
  end
  return { cost = figure(subject, "cost"), tokens = tokens }
end

local function heldIn(reservations)
  local sum = { cost = 0, tokens = 0 }
  local entries = redis.call("HGETALL", reservations)
  for e = 1, #entries, 2 do
    local till, cost, tokens = string.match(entries[e + 1], "^(%d+) (%d+) (%d+)$")
    if tonumber(till) <= now then
      redis.call("HDEL", reservations, entries[e])
    else
      sum = { cost = sum.cost + cost, tokens = sum.tokens + tokens }
    end
  end
  return sum
end

local isHeld = redis.call("HEXISTS", KEYS[3], id) == 1
local warnings = {}
local budgets = (#KEYS - 2) / 2
for n = 1, budgets do
  local subject = ARGV[3 * n + 4]
  local spent, held = used(subject), heldIn(KEYS[2 * n + 1])
  local share = 100 + redis.call("SCARD", KEYS[2 * n + 2]) * ARGV[5]
  for m, measure in ipairs(measures) do
    local limit = tonumber(ARGV[3 * n + 4 + m])
    if limit then
      limit = math.floor(limit * share / 100)
      if not isHeld and spent[measure] + held[measure] + wanted[measure] > limit then
        return { "refused", n, measure, string.format("%.0f", limit) }
      end
      if spent[measure] * 100 >= limit * ARGV[6] then
        warnings[subject] = { n, measure, string.format("%.0f", limit) }
      end
    end
  end
end

for n = 1, budgets do
  local till = string.format("%.0f", now + ARGV[2])
  redis.call("HSET", KEYS[2 * n + 1], id, till .. " " .. ARGV[3] .. " " .. ARGV[4])
  redis.call("PEXPIRE", KEYS[2 * n + 1], keepMs)
end
local output = { "held" }
for subject, warning in pairs(warnings) do
  if redis.call("SADD", KEYS[2], subject) == 1 then
    redis.call("PEXPIRE", KEYS[2], keepMs)
    for _, part in ipairs(warning) do
      output[#output + 1] = part
    end
  end
end
return output
