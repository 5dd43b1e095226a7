--[[
  Sets aside what a model call may use in each budget of a day that concerns it, or in none of them. Called again
  with the same reservation it keeps it alive, and tells the same of warnings: the client may have lost the first
  reply with its connection. One whose worker died lapses.

  KEYS[1] usage of the day: hash of `<subject> <measure>` to a number
  KEYS[2] set of the subjects whose people were warned, and of `<subject> <reservation>` that was told to warn them
  then, for each budget: its reservations (hash of id to `<until, ms> <cost> <tokens>`), and the set of its extensions

  ARGV[1] reservation    ARGV[2] ms until it lapses    ARGV[3] cost    ARGV[4] tokens
  ARGV[5] percent of a budget that an extension adds   ARGV[6] percent of it at which to warn
  then, for each budget: its subject, its limit of cost, its limit of tokens ("" for none)

  Output
    {"held", n, measure, limit, ...}     set aside; the n-th budget and others have just come so far that people
                                         are to be warned
    {"refused", n, measure, limit}       the n-th budget has no room; nothing was set aside
]]
-- @include time
local usage, warned = KEYS[1], KEYS[2]
local id, lapseMs, cost, tokens = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local extensionPercent, warnPercent = ARGV[5], ARGV[6]

local now = timeMs()
local wanted = { cost = tonumber(cost), tokens = tonumber(tokens) }
local measures = { "cost", "tokens" }
local tokenKinds = { "input", "output", "cacheRead", "cacheWrite" }
local keepMs = 172800000

local budgets = {}
for n = 1, (#KEYS - 2) / 2 do
  local key, arg = 2 * n + 1, 3 * n + 4
  budgets[n] = {
    reservations = KEYS[key],
    extensions = KEYS[key + 1],
    subject = ARGV[arg],
    limits = { cost = tonumber(ARGV[arg + 1]), tokens = tonumber(ARGV[arg + 2]) },
  }
end

local function figure(subject, measure)
  return tonumber(redis.call("HGET", usage, subject .. " " .. measure) or "0")
end

local function used(subject)
  local sum = 0
  for _, kind in ipairs(tokenKinds) do
    sum = sum + figure(subject, kind)
  end
  return { cost = figure(subject, "cost"), tokens = sum }
end

local function heldIn(reservations)
  local sum = { cost = 0, tokens = 0 }
  local entries = redis.call("HGETALL", reservations)
  for e = 1, #entries, 2 do
    local till, heldCost, heldTokens = string.match(entries[e + 1], "^(%d+) (%d+) (%d+)$")
    if tonumber(till) <= now then
      redis.call("HDEL", reservations, entries[e])
    else
      sum = { cost = sum.cost + heldCost, tokens = sum.tokens + heldTokens }
    end
  end
  return sum
end

local isHeld = redis.call("HEXISTS", budgets[1].reservations, id) == 1
local warnings = {}
for n, budget in ipairs(budgets) do
  local spent, held = used(budget.subject), heldIn(budget.reservations)
  local share = 100 + redis.call("SCARD", budget.extensions) * extensionPercent
  for _, measure in ipairs(measures) do
    local limit = budget.limits[measure]
    if limit then
      limit = math.floor(limit * share / 100)
      if not isHeld and spent[measure] + held[measure] + wanted[measure] > limit then
        return { "refused", n, measure, string.format("%.0f", limit) }
      end
      if spent[measure] * 100 >= limit * warnPercent then
        warnings[budget.subject] = { n, measure, string.format("%.0f", limit) }
      end
    end
  end
end

local till = string.format("%.0f", now + lapseMs)
for _, budget in ipairs(budgets) do
  redis.call("HSET", budget.reservations, id, till .. " " .. cost .. " " .. tokens)
  redis.call("PEXPIRE", budget.reservations, keepMs)
end
local output = { "held" }
for subject, warning in pairs(warnings) do
  local warner = subject .. " " .. id
  if redis.call("SADD", warned, subject) == 1 then
    redis.call("SADD", warned, warner)
    redis.call("PEXPIRE", warned, keepMs)
  end
  if redis.call("SISMEMBER", warned, warner) == 1 then
    for _, part in ipairs(warning) do
      output[#output + 1] = part
    end
  end
end
return output
