-- The count of a mailbox's bytes, by which deliver.lua knows a full one, follows each change of an entry. A head that has
-- expired is not made anew, and an empty mailbox begins anew with nothing.
local function resizeMail(head, by)
  local bytes = tonumber(redis.call("HGET", head, "mailBytes"))
  if bytes then
    redis.call("HSET", head, "mailBytes", math.max(0, bytes + by))
  end
end

local function removeEntry(head, mail, entry)
  redis.call("LREM", mail, 1, entry)
  resizeMail(head, -#entry)
end

-- Of a thread that has a head.
local function addEntry(head, mail, entry)
  local waits = redis.call("LLEN", mail)
  local bytes = waits == 0 and 0 or tonumber(redis.call("HGET", head, "mailBytes") or "0")
  redis.call("RPUSH", mail, entry)
  redis.call("HSET", head, "mailBytes", bytes + #entry)
end
