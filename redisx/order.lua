-- Places an order: all pieces of the cart or none, one order a user. The only script that takes stock.
--
-- KEYS[1]  the user's order: string as the cart, then " " and the idempotency key if there is one
-- KEYS[2]  the cart: string "food:count,food:count", counts 0 to 3
-- KEYS[3]  the stock of this sale: hash food id -> pieces left
-- ARGV[1]  idempotency key: string, "" for none
--
-- Returns 0  placed: the stock is taken and the cart has become the order
--         1  the user has an order already
--         2  the cart is empty
--         3  not enough of some food: nothing is changed
--         4  no stock of this sale in this Redis: nothing is changed
--         5  placed before under the same idempotency key
local order, cart, stock, key = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local PLACED, HAS_ORDER, CART_EMPTY, OUT_OF_STOCK, NO_SALE, PLACED_BEFORE = 0, 1, 2, 3, 4, 5

if redis.call('EXISTS', order) == 1 then
  if key ~= '' and string.match(redis.call('GET', order), ' (.*)') == key then return PLACED_BEFORE end
  return HAS_ORDER
end

local foods, counts = {}, {}
for food, count in string.gmatch(redis.call('GET', cart) or '', '(%d+):([1-9])') do
  foods[#foods + 1], counts[#counts + 1] = food, count
end
if #foods == 0 then return redis.call('EXISTS', stock) == 1 and CART_EMPTY or NO_SALE end

local left = redis.call('HMGET', stock, unpack(foods))
local taken = {}
for i, food in ipairs(foods) do
  if not left[i] then return NO_SALE end
  taken[2 * i - 1], taken[2 * i] = food, left[i] - counts[i]
  if taken[2 * i] < 0 then return OUT_OF_STOCK end
end
redis.call('HSET', stock, unpack(taken))
redis.call('RENAME', cart, order)
redis.call('PERSIST', order) -- the cart's lifetime came along
if key ~= '' then redis.call('APPEND', order, ' ' .. key) end
return PLACED
