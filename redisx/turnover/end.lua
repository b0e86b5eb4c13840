-- Ends a turnover in one step: puts the ended sale's marker away and opens the next sale. With states.lua
-- and new_sale.lua in front.
--
-- KEYS[1]  the marker: hash id, previous, server, ledger, hold, next_*, and the fields of states.lua
-- KEYS[2]  the stock of the next sale: hash food id -> pieces, and a note
-- KEYS[3]  the gate of the next sale: string
-- KEYS[4]  the log of the next sale: stream
-- KEYS[5]  the stream of orders of the next sale; made here when the sale before keeps a ledger
-- KEYS[6]  the stock of the next sale as begin.lua keeps it: list
-- KEYS[7]  the kept marker of the ended sale: hash
-- ARGV[1]  id of the next sale: string
-- ARGV[2]  name of the consumer group of KEYS[5]: string
-- ARGV[3]  number of slices: integer > 0; of more than one, the others are made afterwards
-- ARGV[4]  pieces of all foods in all slices: integer >= 0
-- ARGV[5+] pieces of food 1, 2, 3, ... in the home slice: integers >= 0
--
-- Returns 0  the next sale is there
--         1  another caller has opened it: nothing is changed
--         2  Redis has lost the sale before, or the stock of the next one: nothing is changed
local marker, stock, gate, log, stream, next_stock, kept = unpack(KEYS)
local id, group, slices, pieces = unpack(ARGV, 1, 4)
local FIRST_FOOD = 5
local OPENED, OVER, NO_SALE = 0, 1, 2
local call = redis.call

local found = call('HMGET', marker, 'id', 'previous', 'server', 'ledger', 'next_id', 'next_catalog',
  'next_opens_at', 'next_closes_at', 'next_delete', 'next_by', 'hold')
local before, previous, server, ledger, turning, catalog = unpack(found)
local opens_at, closes_at, delete, by, hold = unpack(found, 7, 11)
if before == id then return OVER end
if turning ~= id or not ARGV[FIRST_FOOD] then return NO_SALE end

putStock(stock, FIRST_FOOD)
call('HDEL', marker, 'next_id', 'next_catalog', 'next_opens_at', 'next_closes_at', 'next_delete',
  'next_by')
call('UNLINK', next_stock)
if delete == 'true' then call('DEL', marker) else call('RENAME', marker, kept) end
call('HSET', marker, 'previous', previous and before .. ' ' .. previous or before)
if server then call('HSET', marker, 'server', server) end
if ledger then
  call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
  call('HSET', marker, 'ledger', 'on')
end
if slices ~= '1' then call('HSET', marker, 'slices', slices, 'filling', 1) end
putSale(marker, gate, log, id, catalog, opens_at, closes_at, pieces, hold or '0', by)
return OPENED
