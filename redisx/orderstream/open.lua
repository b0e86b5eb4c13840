-- Switches the sale's ledger on, once: makes the stream of orders. From then on order.lua puts every order
-- there, from every server. A lost stream is made again.
--
-- KEYS[1]  the marker: hash id, ledger
-- KEYS[2]  the stream of orders
-- ARGV[1]  id of the sale that must be there: string
-- ARGV[2]  name of the consumer group: string
--
-- Returns 0  there is no such sale: nothing is changed
--         1  the ledger is on
--         2  the ledger is on, but orders placed before may be missing in it
local marker, stream, id, group = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local NO_SALE, ON, FILLING = 0, 1, 2

if redis.call('HGET', marker, 'id') ~= id then return NO_SALE end
local made = redis.pcall('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
if type(made) == 'table' and made.err and not string.find(made.err, 'BUSYGROUP') then return made end
local there = type(made) == 'table' and made.err
if there and redis.call('HGET', marker, 'ledger') == 'on' then return ON end
redis.call('HSET', marker, 'ledger', 'filling')
return FILLING
