-- Adds pieces to the stock of a food, or takes back unsold pieces. In the same step it keeps the sum of all
-- restocks beside the stock: at the start + restocked = left + sold.
--
-- KEYS[1]  the marker: hash id
-- KEYS[2]  the stock: hash food id -> pieces left, "+" food id -> pieces restocked; and those of
--          sold_out.lua
-- KEYS[3]  the log: stream
-- KEYS[4]  the result of an earlier restock under this idempotency key: string "food:add:left"; not used
--          without a key
-- ARGV[1]  id of the sale that must be there: string
-- ARGV[2]  who restocks: string
-- ARGV[3]  food id: integer > 0, a food of the sale
-- ARGV[4]  pieces to add: integer, below 0 to take back
-- ARGV[5]  how long the idempotency key counts: seconds; 0 without one
-- ARGV[6]  pieces of the food in other slices: integer >= 0
--
-- Returns {code, food, left}: the food and its pieces left after the call, in all slices. code is
--         0  done, or done before under the same idempotency key: then food and left are from that call
--         1  Redis does not hold the sale: nothing is changed
--         2  fewer pieces are left than are to be taken back: nothing is changed
--         3  the idempotency key was used for another restock: nothing is changed
local marker, stock, log, done = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, by, food, add, remembered = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local elsewhere = tonumber(ARGV[6])
local DONE, NO_SALE, TOO_FEW, KEY_REUSED = 0, 1, 2, 3
local call = redis.call

if call('HGET', marker, 'id') ~= id then return {NO_SALE, 0, 0} end
if remembered > 0 then
  local food_then, add_then, left_then = string.match(call('GET', done) or '', '^(%d+):(-?%d+):(%d+)$')
  if food_then then
    if food_then ~= food or add_then ~= ARGV[4] then return {KEY_REUSED, 0, 0} end
    return {DONE, tonumber(food_then), tonumber(left_then)}
  end
end
local now = call('HMGET', stock, food, '+' .. food)
if not now[1] then return {NO_SALE, 0, 0} end
local left, restocked = tonumber(now[1]) + add, tonumber(now[2] or 0) + add
if left < 0 then return {TOO_FEW, tonumber(food), now[1] + elsewhere} end
local text = string.format('%d', left)
local before, after = string.format('%d', now[1] + elsewhere), string.format('%d', left + elsewhere)
if add ~= 0 then
  call('XADD', log, '*', 'by', by, 'what', 'stock', 'food', food, 'add', ARGV[4], 'before', before,
    'after', after)
  -- With other slices, a snapshot looks at the pieces that they have.
  if left > 0 and call('HDEL', stock, '!' .. food) == 1 then call('HINCRBY', stock, 'sold_out', -1) end
  call('HSET', stock, food, text, '+' .. food, string.format('%d', restocked))
end
if remembered > 0 then call('SET', done, food .. ':' .. ARGV[4] .. ':' .. after, 'EX', remembered) end
return {DONE, tonumber(food), left + elsewhere}
