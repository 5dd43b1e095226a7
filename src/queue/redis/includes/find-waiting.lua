-- The entry of a mailbox that holds the message with that id, and its position counted from 0; nil where it does not
-- wait. Needs decode.
local function findWaiting(mail, id)
  for index, entry in ipairs(redis.call("LRANGE", mail, 0, -1)) do
    local message = decode(entry).message
    if type(message) == "table" and message.id == id then
      return entry, index - 1
    end
  end
  return nil
end
