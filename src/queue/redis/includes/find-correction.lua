-- The correction of that message which waits for the turn that works on it; nil where none does. Its id is that of the
-- message and the time of the edit, `<message>~<time>`. Needs decode.
local function findCorrection(mail, id)
  for _, entry in ipairs(redis.call("LRANGE", mail, 0, -1)) do
    local message = decode(entry).message
    local other = type(message) == "table" and message.id
    if type(other) == "string" and string.sub(other, 1, #id) == id and string.find(other, "^~[%d.]+$", #id + 1) then
      return entry
    end
  end
  return nil
end
