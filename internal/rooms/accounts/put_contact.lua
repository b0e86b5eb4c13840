-- Adds a contact to a user, or changes it.
--
-- KEYS[1]  contacts of the user: hash, user -> blocked and nickname
-- ARGV[1]  the contact: user
-- ARGV[2]  "0" or "1" (blocked), and the nickname
-- ARGV[3]  contacts that there may be: integer > 0
--
-- Returns 1; 0 if there are too many contacts, and then changes nothing
local contacts, contact, value, most = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])

if redis.call('HLEN', contacts) >= most and redis.call('HEXISTS', contacts, contact) == 0 then return 0 end
redis.call('HSET', contacts, contact, value)
return 1
