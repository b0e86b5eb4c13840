-- Replaces the password of an account, if it is still the one that was checked.
--
-- KEYS[1]  the account: hash, by folded name
-- ARGV[1]  salt and hash of the password that was checked
-- ARGV[2]  those of the new password
--
-- Returns 1; 0 if the account has another password by now, and then changes nothing
local account, old, new = KEYS[1], ARGV[1], ARGV[2]

if redis.call('HGET', account, 'hash') ~= old then return 0 end
redis.call('HSET', account, 'hash', new)
return 1
