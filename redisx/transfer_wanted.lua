-- Tells which pieces the cart of a refused order wants. It changes nothing. With cart_rules.lua in front.
--
-- KEYS[1]  the cart: string or hash as in cart_rules.lua
-- ARGV[1]  the limit, pieces that a cart may hold: integer, 1 to 3
--
-- Returns {food, pieces, food, pieces, ...}: what the cart holds; empty without a cart
local cart, limit = KEYS[1], tonumber(ARGV[1])
local items = redis.pcall('GET', cart)
if type(items) == 'table' then items = redis.call('HGET', cart, 'items') end
local foods, counts = settle(items or '', limit)
local wanted = {}
for _, food in ipairs(foods) do
  if counts[food] > 0 then
    wanted[#wanted + 1] = tonumber(food)
    wanted[#wanted + 1] = counts[food]
  end
end
return wanted
