-- Records that the orders of a closed sale were exported. It is called before an export begins and once the
-- export is safe. If the sale was opened in between, the field exporting is gone (state_change.lua), and the
-- export does not count: orders may be missing. Nor does an export with another number of pieces than were
-- sold. With states.lua in front.
--
-- KEYS[1]  the marker: hash id, exporting, exported, exported_*, and the fields of states.lua
-- KEYS[2]  the gate: string
-- KEYS[3]  the log: stream
-- KEYS[4]  the prices of all foods: list, see numbers.go
-- KEYS[5]  the stock: hash food id -> pieces left, "+" food id -> pieces restocked
-- ARGV[1]  id of the sale that must be there: string
-- ARGV[2]  name of the export, the same in both calls: string
-- ARGV[3]  number of orders in it: integer >= 0; "" before it begins
-- ARGV[4]  number of pieces in it: integer >= 0; the rest only with ARGV[3]
-- ARGV[5]  pieces of all foods at the start of the sale: integer >= 0
-- ARGV[6]  fingerprint of the users with the names in it: string
-- ARGV[7]  pieces left in other slices: integer >= 0
-- ARGV[8]  ids of the last events of orders before the export began: string
-- ARGV[9+] the texts of KEYS[4]
--
-- Returns {code, name, sold}; name is the name under which this export counts
--         0  noted: it counts
--         1  the sale is not closed, or was opened since: it does not count
--         2  there is no such sale, or the next one is being opened: it does not count
--         3  the sale has sold another number of pieces: sold. It does not count
local marker, gate, log, prices, stock = unpack(KEYS)
local id, name, orders, pieces, start, users, elsewhere, events = unpack(ARGV, 1, 8)
local FIRST_TEXT = 9
local NOTED, NOT_CLOSED, NO_SALE, OTHER_PIECES = 0, 1, 2, 3
local call = redis.call

-- unsold returns the pieces left of all foods in the home slice, less the restocked pieces: without other
-- slices, sold pieces = pieces at the start - unsold. It reads a hash with two fields for each food, about a
-- second for a million foods; the sale is closed then.
local function unsold()
  local fields, sum = call('HGETALL', stock), 0
  for i = 1, #fields, 2 do
    local name = fields[i]
    if string.find(name, '^%d+$') then sum = sum + fields[i + 1] end
    if string.find(name, '^%+%d+$') then sum = sum - fields[i + 1] end
  end
  return sum
end

local sale = currentSale(marker, gate, log, id)
if not sale then return {NO_SALE, '', 0} end
if sale.state ~= CLOSED then return {NOT_CLOSED, '', 0} end
if orders == '' then
  -- Exports at the same time share a name: each has all orders of the closed sale.
  call('HSETNX', marker, 'exporting', name)
  return {NOTED, call('HGET', marker, 'exporting'), 0}
end
if call('HGET', marker, 'exporting') ~= name then return {NOT_CLOSED, '', 0} end
local sold = start - unsold() - elsewhere
if sold ~= tonumber(pieces) then return {OTHER_PIECES, name, sold} end
call('DEL', prices)
for i = FIRST_TEXT, #ARGV do call('RPUSH', prices, ARGV[i]) end
call('HSET', marker, 'exported', string.format('%d', sale.now), 'exported_orders', orders,
  'exported_users', users, 'exported_events', events)
return {NOTED, name, sold}
