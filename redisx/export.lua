-- Records that the orders of a closed sale were exported. It is called before an export begins and once it
-- is safe. A sale that was opened in between has lost the field exporting (turn.lua), so that the export
-- does not count: orders may be missing in it. With state.lua in front.
--
-- KEYS[1]  the marker: hash id, exporting, exported, exported_orders, and the fields of state.lua
-- KEYS[2]  the gate: string
-- KEYS[3]  the log: stream
-- KEYS[4]  the prices of all foods: list, see numbers.go
-- ARGV[1]  id of the sale that must be there: string
-- ARGV[2]  name of the export, the same in both calls: string
-- ARGV[3]  number of orders in it: integer >= 0; "" before it begins
-- ARGV[4+] the texts of KEYS[4], only with ARGV[3]
--
-- Returns {code, name}; name is that of the export under which this one counts
--         0  noted: it counts
--         1  the sale is not closed, or was opened since: it does not count
--         2  there is no such sale, or the next one is being opened: it does not count
local marker, gate, log, prices = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, name, orders = ARGV[1], ARGV[2], ARGV[3]
local FIRST_TEXT = 4
local NOTED, NOT_CLOSED, NO_SALE = 0, 1, 2
local call = redis.call

local sale = turn(marker, gate, log, id)
if not sale then return {NO_SALE, ''} end
if sale.state ~= CLOSED then return {NOT_CLOSED, ''} end
if orders == '' then
  -- Exports of the same time share a name: each has all orders of the closed sale.
  call('HSETNX', marker, 'exporting', name)
  return {NOTED, call('HGET', marker, 'exporting')}
end
if call('HGET', marker, 'exporting') ~= name then return {NOT_CLOSED, ''} end
call('DEL', prices)
for i = FIRST_TEXT, #ARGV do call('RPUSH', prices, ARGV[i]) end
call('HSET', marker, 'exported', string.format('%d', sale.now), 'exported_orders', orders)
return {NOTED, name}
