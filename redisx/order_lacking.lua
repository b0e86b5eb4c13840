-- Tells which foods a refused order lacks. It changes nothing. With cart_rules.lua in front.
--
-- KEYS[1]  the cart: string or hash as in cart_rules.lua
-- KEYS[2]  the stock: hash food id -> pieces left
-- ARGV[1]  the limit, pieces that a cart may hold: integer, 1 to 3
--
-- Returns {food, wanted, left, food, wanted, left, ...}: the foods of the cart of which fewer pieces are
-- left; empty if pieces came back meanwhile, and without a cart
local cart, stock, limit = KEYS[1], KEYS[2], tonumber(ARGV[1])
local items = redis.pcall('GET', cart)
if type(items) == 'table' then items = redis.call('HGET', cart, 'items') end
local foods, counts = settle(items or '', limit)
local lacking = {}
for _, food in ipairs(foods) do
  local left = tonumber(redis.call('HGET', stock, food) or 0)
  if left < counts[food] then
    lacking[#lacking + 1] = tonumber(food)
    lacking[#lacking + 1] = counts[food]
    lacking[#lacking + 1] = left
  end
end
return lacking
