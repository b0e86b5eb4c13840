-- Decides about changes of carts if a plain APPEND cannot: a change in a list that may ask for more than the
-- limit, and a change of a cart that is settled or that another call is changing now. It takes any number of
-- changes, one after the other. The work for each does not depend on the changes before it.
--
-- KEYS[2i-1]  of change i: the order of the cart's user: string
-- KEYS[2i]    of change i: the cart: string or hash as in cart_rules.lua
-- ARGV[1]     the limit, pieces that a cart may hold: integer, 1 to 3
-- ARGV[2]     lifetime of a cart: seconds > 0
-- ARGV[3]     a list of changes up to this length never asks for more than the limit: bytes > 0
-- ARGV[2i+2]  of change i: where it ends in the list to which it was appended: bytes > 0; 0 when it was not
--             appended
-- ARGV[2i+3]  of change i: the change: string; one alone never asks for more than the limit
--
-- Returns for each change
--         0  done: it had its effect, or its cart has been ordered meanwhile and stays as it is
--         1  over the limit: it had no effect
--         2  as 0, and it began a new cart
local DONE, OVER_LIMIT, BEGAN = 0, 1, 2
local limit, lifetime, plain = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local call = redis.call
-- A cart that has named up to this many foods remembers the order of foods with no pieces left.
local REMEMBERED = 8

-- items returns the contents of a cart as a list of changes, and whether the last change had its effect.
local function items(changes)
  local foods, counts, accepted = settle(changes, limit)
  return list(foods, counts, #foods > REMEMBERED and 1 or 0), accepted
end

-- read returns the cart's list of changes, and its items if it is settled; nothing without a cart.
local function read(cart)
  local changes = redis.pcall('GET', cart)
  if type(changes) ~= 'table' then return changes end
  local fields = call('HMGET', cart, 'changes', 'items')
  return fields[1], fields[2]
end

-- settleCart turns a list into a hash and returns its items.
local function settleCart(cart, changes)
  local milliseconds, settled = call('PTTL', cart), items(changes)
  call('DEL', cart)
  call('HSET', cart, 'changes', changes, 'items', settled)
  -- The EXPIRE of a new cart may still be on its way.
  call('PEXPIRE', cart, milliseconds > 0 and milliseconds or lifetime * 1000)
  return settled
end

-- add makes a change that is not in the list.
local function add(cart, change, changes, settled)
  if not changes then
    call('SET', cart, change, 'EX', lifetime)
    return BEGAN
  end
  if not settled and #changes + #change <= plain then
    call('APPEND', cart, change)
    return DONE
  end
  settled = settled or settleCart(cart, changes)
  local now, accepted = items(settled .. change)
  if accepted and now ~= settled then call('HSET', cart, 'items', now) end
  return accepted and DONE or OVER_LIMIT
end

local function decide(order, cart, stop, change)
  local changes, settled = read(cart)
  if stop == 0 then return add(cart, change, changes, settled) end
  if changes and string.sub(changes, stop - #change + 1, stop) == change then
    if not settled then settleCart(cart, changes) end
    local _, accepted = items(string.sub(changes, 1, stop))
    return accepted and DONE or OVER_LIMIT
  end
  -- The list is gone. If it was ordered, the change is either in the order or too late to have an effect.
  if call('EXISTS', order) == 1 then return DONE end
  return add(cart, change, changes, settled) -- it has expired
end

local codes = {}
for i = 1, #KEYS / 2 do
  codes[i] = decide(KEYS[2 * i - 1], KEYS[2 * i], tonumber(ARGV[2 * i + 2]), ARGV[2 * i + 3])
end
return codes
