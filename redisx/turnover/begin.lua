-- Begins the turnover from the sale that Redis holds to the next one. Nothing is sold from here until the
-- next sale opens: this step takes the stock away. The marker then has all that the rest of the turnover
-- needs, so that any server can complete it. With states.lua in front.
--
-- KEYS[1]  the marker: hash id, exported, exported_events, ledger, next_*, and the fields of states.lua
-- KEYS[2]  the stock of the sale: hash food id -> pieces left, and a note
-- KEYS[3]  the kept stock of the ended sale: hash
-- KEYS[4]  the gate of the sale: string
-- KEYS[5]  the log of the sale: stream
-- KEYS[6]  the stream of orders for the ledger
-- KEYS[7]  the stock of the next sale: list, see numbers.go
-- ARGV[1]  id of the sale that must be there: string
-- ARGV[2]  id of the next sale: string
-- ARGV[3]  fingerprint of its foods: string
-- ARGV[4]  when it opens: Unix ms, "" for at once
-- ARGV[5]  when it closes: Unix ms, "" for never
-- ARGV[6]  "true" when the orders of the sale are deleted, "false" when they are kept
-- ARGV[7]  "true" to end even a sale that is not closed, exported or in the ledger, or that has held orders,
--          else "false"
-- ARGV[8]  orders in other slices that are not in the ledger yet: integer >= 0
-- ARGV[9]  "true" when orders in other slices from before the ledger may be missing in it, else "false"
-- ARGV[10] who opens the next sale: string, for the logs of both
-- ARGV[11] orders that are still held, in all slices: integer >= 0; in a closed sale it never grows
-- ARGV[12] ids of the last events of orders: string, as at the begin of the export if none has changed since
-- ARGV[13+] the texts of KEYS[7]
--
-- Returns {code, number}
--         0  begun
--         1  another turnover is under way: nothing is changed
--         2  there is no such sale: nothing is changed
--         3  the sale is not closed: nothing is changed
--         4  its orders were not exported since it was closed or changed last: nothing is changed
--         5  that many orders are not in the ledger yet, or 0: orders from before the ledger was switched on
--            may be missing in it. Nothing is changed
--         6  the next sale would be closed from its beginning: nothing is changed
--         7  orders of the sale are still held: nothing is changed
local marker, stock, kept, gate, log, stream, next_stock = unpack(KEYS)
local id, next_id, catalog, opens_at, closes_at, delete, force, elsewhere = unpack(ARGV, 1, 8)
local filling, by, held, events = unpack(ARGV, 9, 12)
local FIRST_TEXT = 13
local BEGUN, UNDER_WAY, NO_SALE, NOT_CLOSED, NOT_EXPORTED = 0, 1, 2, 3, 4
local LEDGER_BEHIND, OVER_ALREADY, STILL_HELD = 5, 6, 7
-- Seconds for which the stream stays. A connected writer of a ledger reads it to its end; a new connection
-- is refused, because the sale has ended.
local STREAM_LIFETIME = 86400
local call = redis.call

local found = call('HMGET', marker, 'id', 'next_id', 'exported', 'ledger', 'exported_events')
if found[1] ~= id then return {NO_SALE, 0} end
if found[2] then return {UNDER_WAY, 0} end
local sale = currentSale(marker, gate, log, id)
if closes_at ~= '' and tonumber(closes_at) <= sale.now then return {OVER_ALREADY, 0} end
if force ~= 'true' then
  if sale.state ~= CLOSED then return {NOT_CLOSED, 0} end
  if held ~= '0' then return {STILL_HELD, 0} end
  if not found[3] or (found[5] or '') ~= events then return {NOT_EXPORTED, 0} end
  local waiting = call('XLEN', stream) + elsewhere
  if waiting > 0 or found[4] == 'filling' or filling == 'true' then return {LEDGER_BEHIND, waiting} end
end
call('DEL', gate) -- first: a Redis without memory lets the rest of the script through
if sale.state ~= CLOSED then
  call('XADD', log, '*', 'by', by, 'what', 'state', 'before', sale.state, 'after', CLOSED)
  call('HSET', marker, 'closed', string.format('%d', sale.now), 'state', CLOSED)
end
for i = FIRST_TEXT, #ARGV do call('RPUSH', next_stock, ARGV[i]) end
call('HSET', marker, 'next_id', next_id, 'next_catalog', catalog, 'next_opens_at', opens_at,
  'next_closes_at', closes_at, 'next_delete', delete, 'next_by', by)
if delete == 'true' then
  call('UNLINK', stock)
elseif call('EXISTS', stock) == 1 then
  call('RENAME', stock, kept)
end
call('EXPIRE', stream, STREAM_LIFETIME)
return {BEGUN, 0}
