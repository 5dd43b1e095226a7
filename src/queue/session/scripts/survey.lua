--[[
  Looks through a part of a log for what may stand far behind its end, without sending the records.

  KEYS[1] log

  ARGV[1] position of the first record    ARGV[2] position of the last one

  Output {withdrawn, model, summaries}
    withdrawn: how many messages were taken back
    model: the newest one that somebody chose, or ""
    summaries: positions of the summaries, newest first
]]
-- @include decode
local log = KEYS[1]
local first, last = tonumber(ARGV[1]), ARGV[2]

-- What a worker writes begins with its type, of which one letter tells enough; what a script has written is decoded.
local byLetter = { u = "user", w = "withdrawn", s = "summary" }

local function typeOf(entry)
  if string.sub(entry, 1, 9) == '{"type":"' then
    return byLetter[string.sub(entry, 10, 10)]
  end
  return decode(entry).type
end

local function modelIn(entry)
  local message = string.find(entry, '"enclosed":', 1, true) and decode(entry).message
  local enclosed = type(message) == "table" and type(message.enclosed) == "table" and message.enclosed or {}
  return type(enclosed.model) == "string" and enclosed.model or ""
end

local withdrawn, model, summaries = 0, "", {}
local entries = redis.call("LRANGE", log, first, last)
for index = #entries, 1, -1 do
  local entry = entries[index]
  local kind = typeOf(entry)
  if kind == "withdrawn" then
    withdrawn = withdrawn + 1
  elseif kind == "summary" then
    summaries[#summaries + 1] = first + index - 1
  elseif kind == "user" and model == "" then
    model = modelIn(entry)
  end
end
return { withdrawn, model, summaries }
