-- Adds a contact to a user, or changes it. What the call leaves out stays; a new contact is not blocked and
-- has no nickname.
--
-- KEYS[1]  contacts of the user: hash, user -> blocked and nickname
-- ARGV[1]  the contact: user
-- ARGV[2]  blocked: "0" or "1"; "" leaves it
-- ARGV[3]  "=" and the nickname; "" leaves it
-- ARGV[4]  contacts that there may be: integer > 0
--
-- Returns the contact as it is now: "0" or "1" (blocked), and the nickname; "" if there are too many
-- contacts, and then changes nothing
local contacts, contact, blocked, nickname, most = KEYS[1], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local value = redis.call('HGET', contacts, contact)
if not value then
  if redis.call('HLEN', contacts) >= most then return '' end
  value = '0'
end
if blocked == '' then blocked = string.sub(value, 1, 1) end
if nickname == '' then nickname = string.sub(value, 2) else nickname = string.sub(nickname, 2) end
value = blocked .. nickname
redis.call('HSET', contacts, contact, value)
return value
