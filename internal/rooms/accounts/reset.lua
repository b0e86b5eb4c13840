-- Sets the password of an account, whatever it was, unless the account is closed.
--
-- KEYS[1]  the account: hash, by folded name
-- ARGV[1]  salt and hash of the new password
--
-- Returns 1; 0 if there is no account or it is closed (its hash is ''), and then changes nothing
local account, new = KEYS[1], ARGV[1]

if (redis.call('HGET', account, 'hash') or '') == '' then return 0 end
redis.call('HSET', account, 'hash', new)
return 1
