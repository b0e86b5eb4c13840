-- Places orders: for each all pieces of its cart or none, one order a user. The only script that takes stock.
-- The orders of one call are decided one after the other, as if each had come alone.
--
-- KEYS[1]            the stock of this sale: hash food id -> pieces left
-- KEYS[2i], [2i+1]   of order i: the user's order (string as the cart, then " " and the idempotency key if there
--                    is one), and the cart (string "food:count,food:count", counts 0 to 3)
-- ARGV[i]            of order i: idempotency key: string, "" for none
--
-- Returns for each order
--         0  placed: the stock is taken and the cart has become the order
--         1  the user has an order already
--         2  the cart is empty
--         3  not enough of some food: nothing is changed
--         4  no stock of this sale in this Redis: nothing is changed
--         5  placed before under the same idempotency key
local PLACED, HAS_ORDER, CART_EMPTY, OUT_OF_STOCK, NO_SALE, PLACED_BEFORE = 0, 1, 2, 3, 4, 5
local call, stock = redis.call, KEYS[1]

local function place(order, cart, key)
  if call('EXISTS', order) == 1 then
    if key ~= '' and string.match(call('GET', order), ' (.*)') == key then return PLACED_BEFORE end
    return HAS_ORDER
  end
  local foods, counts = {}, {}
  for food, count in string.gmatch(call('GET', cart) or '', '(%d+):([1-9])') do
    foods[#foods + 1], counts[#counts + 1] = food, count
  end
  if #foods == 0 then return call('EXISTS', stock) == 1 and CART_EMPTY or NO_SALE end

  local left, taken = call('HMGET', stock, unpack(foods)), {}
  for i = 1, #foods do
    if not left[i] then return NO_SALE end
    local rest = left[i] - counts[i]
    if rest < 0 then return OUT_OF_STOCK end
    taken[2 * i - 1], taken[2 * i] = foods[i], string.format('%d', rest) -- Redis' own way, "%.17g", is slow
  end
  call('HSET', stock, unpack(taken))
  call('RENAME', cart, order)
  call('PERSIST', order) -- the cart's lifetime came along
  if key ~= '' then call('APPEND', order, ' ' .. key) end
  return PLACED
end

local codes = {}
for i = 1, #ARGV do codes[i] = place(KEYS[2 * i], KEYS[2 * i + 1], ARGV[i]) end
return codes
