-- Notes that the ledger has all orders from before it was switched on. It changes nothing of another sale.
--
-- KEYS[1]  the marker: hash id, ledger
-- ARGV[1]  id of the sale that must be there: string
--
-- Returns 1  noted
--         0  there is no such sale: nothing is changed
local marker, id = KEYS[1], ARGV[1]
local NO_SALE, NOTED = 0, 1

if redis.call('HGET', marker, 'id') ~= id then return NO_SALE end
redis.call('HSET', marker, 'ledger', 'on')
return NOTED
