-- What the JSON holds; an empty table where it cannot be read: a later or a broken Heddle may have written it.
local function decode(json)
  local ok, value = pcall(cjson.decode, json)
  return ok and type(value) == "table" and value or {}
end
