-- Makes an account, unless the name has one.
--
-- KEYS[1]  the account: hash, by folded name
-- ARGV[1]  id: integer
-- ARGV[2]  name as others see it
-- ARGV[3]  salt and hash of the password
-- ARGV[4]  e-mail, '' for none
-- ARGV[5]  now: Unix milliseconds
--
-- Returns 1; 0 if the name is taken, and then changes nothing
local account, id, name, hash, email, now = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if redis.call('EXISTS', account) == 1 then return 0 end
redis.call('HSET', account, 'id', id, 'name', name, 'hash', hash, 'email', email, 'created', now)
return 1
