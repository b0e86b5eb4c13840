-- Places orders. Each order takes all pieces of its cart or none; a user has one order. No other script
-- sells. The orders of one call are decided one after the other, as if each had come alone. With
-- order_held.lua in front an order is held until it is paid, with order_final.lua in front it is final.
--
-- KEYS[1]     the stock of this sale: hash food id -> pieces left, orders -> number of orders, and others
-- KEYS[2]     the stream of orders for the ledger: entries user, items (as in the order, without the rest);
--             without that stream the sale keeps no ledger
-- KEYS[3]     the gate, "gate_<sale>", which is there while the sale is open: string, see states.lua
-- KEYS[4]     the marker: hash, see states.lua
-- KEYS[5]     the log: stream
-- KEYS[6] and, with order_held.lua, KEYS[7] and KEYS[8]: see there and in order_final.lua
-- then two for each order:
--             the user's order: string "food:count,food:count," with or without spaces between them, "|",
--             the idempotency key if there is one, a line feed, when it was placed: Unix ms; with
--             order_held.lua more
--             the cart: string or hash as in cart_rules.lua
-- ARGV[1]     the limit, pieces that a cart may hold: integer, 1 to 3
-- ARGV[2]     lifetime of a cart: seconds > 0
-- ARGV[3]     a list of changes up to this length never asks for more than the limit: bytes > 0
-- ARGV[4], only with order_held.lua: see there
-- then one for each order:
--             idempotency key: string, "" for none
--
-- Returns for each order, with order_held.lua 16 times its number more, which is how many orders the user
-- has had before it,
--         0  placed: the stock is taken and the cart has become the order
--         1  the user has an order already
--         2  the cart is empty
--         3  not enough of some food: nothing is changed
--         4  no stock of this sale in this Redis: nothing is changed
--         5  placed before under the same idempotency key
--         6  the cart holds more than three foods, which this script does not sell: nothing is changed
--         7  the sale is not open yet: nothing is changed
--         8  the sale is paused: nothing is changed
--         9  the sale is closed: nothing is changed
--         10 too many orders of the user were released before: nothing is changed
local PLACED, HAS_ORDER, CART_EMPTY, OUT_OF_STOCK = 0, 1, 2, 3
local NO_SALE, PLACED_BEFORE, TOO_MANY_FOODS = 4, 5, 6
local NOT_OPEN, PAUSED, CLOSED, TOO_MANY_BEFORE = 7, 8, 9, 10
-- Up to three foods, each with its pieces, and the rest.
local ITEMS = '^(%d+):([1-9]), *(%d*):?([1-9]?),? *(%d*):?([1-9]?),? *(.*)$'
local call, try, stock, stream, gate = redis.call, redis.pcall, KEYS[1], KEYS[2], KEYS[3]
local limit, lifetime, plain = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

-- Once for all orders: this script never removes these keys. The streams are named three and six times and
-- count as often, so that one number shows which of the keys exist.
local found = call('EXISTS', stock, gate, stream, stream, stream,
  EVENTS, EVENTS, EVENTS, EVENTS, EVENTS, EVENTS)
local events, ledger, refusal = found >= 6, found % 6 >= 3, nil
local now, placed = nil, 0 -- the time of the orders that this call places, and their number
if found % 3 < 2 then
  -- The stock or the gate is missing. The sale may still be open: at opens_at the first order may come
  -- before any other call. states() is only here because it costs time.
  local id = string.match(gate, '^gate_([^{]*)') -- a hash tag may follow
  local sale = call('EXISTS', stock) == 1 and states()(KEYS[4], gate, KEYS[5], id)
  local shut = {scheduled = NOT_OPEN, paused = PAUSED, closed = CLOSED}
  if sale then refusal, now = shut[sale.state], string.format('\n%d', sale.now) else refusal = NO_SALE end
end

-- take takes pieces of up to three foods from the stock, all or none, and returns whether it did. Most
-- orders find their pieces: taking first and giving back costs less than looking first.
local function take(food, pieces, food2, pieces2, food3, pieces3)
  local enough = call('HINCRBY', stock, food, '-' .. pieces) >= 0
  if enough and food2 ~= '' then enough = take(food2, pieces2, food3, pieces3, '', '') end
  if not enough then call('HINCRBY', stock, food, pieces) end
  return enough
end

local function placeOrder(order, cart, key, before)
  local terms; terms, key = termsOf(key) -- with rules
  if refusal == NO_SALE then return NO_SALE end -- an order that is there may be the next sale's
  if call('EXISTS', order) == 1 then
    local value = key ~= '' and call('GET', order) or ''
    if key ~= '' and string.match(value, '|([^\n]*)') == key then return PLACED_BEFORE, numberOf(value) end
    return HAS_ORDER
  end
  local released = before > 0 and key ~= '' and releasedUnder(order, key, before)
  if released then return PLACED_BEFORE, released end
  if refusal then return refusal end
  if before > BEFORE_MAX then return TOO_MANY_BEFORE end
  local changes = try('GETDEL', cart) -- for a settled cart an error: it stays
  local settled = type(changes) == 'table'
  local items = settled and call('HGET', cart, 'items') or changes or ''
  local f1, p1, f2, p2, f3, p3, more = string.match(items, ITEMS)
  if settled or more ~= '' or #items > plain or f1 == f2 or f1 == f3 or (f2 == f3 and f2 ~= '') then
    local foods, counts = settle(items, limit)
    items = list(foods, counts, 1)
    f1, p1, f2, p2, f3, p3, more = string.match(items, ITEMS)
  end
  local code = not f1 and CART_EMPTY or more ~= '' and TOO_MANY_FOODS
    or check(terms, f1, p1, f2, p2, f3, p3) -- with rules
    or not take(f1, p1, f2, p2, f3, p3) and OUT_OF_STOCK or PLACED
  if code == PLACED then
    if not now then
      local time = call('TIME')
      now = '\n' .. time[1] .. string.sub(1000000 + time[2], 2, 4)
    end
    placed = placed + 1
    local value = items .. '|' .. key .. now
    if hold then
      value = hold(order, before, value)
    elseif events then
      tell(EVENTS, string.match(order, '%d+'), 0, 1, 'placed', 'items', items)
    end
    call('SET', order, value)
    use(terms, order, before) -- with rules
    if ledger then call('XADD', stream, '*', 'user', string.match(order, '%d+'), 'items', items) end
    if settled then call('DEL', cart) end
  elseif changes and not settled then
    call('SET', cart, changes, 'EX', lifetime)
  end
  return code
end

local codes = {}
for i = 1, #ARGV - SHARED_ARGS do
  local order, cart = KEYS[SHARED_KEYS + 2 * i - 1], KEYS[SHARED_KEYS + 2 * i]
  local before = hold and ordersBefore(order) or 0
  local code, number = placeOrder(order, cart, ARGV[SHARED_ARGS + i], before)
  codes[i] = code + 16 * (number or before)
end
if placed > 0 then call('HINCRBY', stock, 'orders', placed) end
return codes
