-- Gives the next number of an account.
--
-- KEYS[1]  numbers given: string, integer
-- ARGV[1]  accounts that there may be: integer > 0
--
-- Returns the number, from 1; 0 if there are as many as there may be
local ids, most = KEYS[1], tonumber(ARGV[1])

if tonumber(redis.call('GET', ids) or 0) >= most then return 0 end
return redis.call('INCR', ids)
