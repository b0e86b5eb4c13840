-- Moves some keys of the ended sale: orders into the hash that keeps them, or deletes them; carts are
-- deleted. It does nothing once the turnover is over: the keys would be the next sale's.
--
-- KEYS[1]   the marker: hash next_id
-- KEYS[2]   the orders that are kept: hash user -> the order as it was
-- KEYS[3+]  keys of orders, then of carts, some hundred at most
-- ARGV[1]   id of the next sale: string
-- ARGV[2]   number of orders that are kept; they come first among the keys
-- ARGV[3+]  users of these orders
--
-- Returns the number of keys that were there: integer >= 0; -1 when the turnover is over: nothing is changed
local marker, kept, next_id, orders = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
local FIRST_KEY, FIRST_USER, OVER = 3, 3, -1
local call = redis.call

if call('HGET', marker, 'next_id') ~= next_id then return OVER end
for i = 0, orders - 1 do
  local order = call('GET', KEYS[FIRST_KEY + i])
  if order then call('HSET', kept, ARGV[FIRST_USER + i], order) end
end
return call('UNLINK', unpack(KEYS, FIRST_KEY))
