-- Decides about changes of carts, where a plain APPEND cannot: what became of a change whose list may ask for more than
-- the limit, and a change of a cart that is settled already or that another call is changing at this moment.
-- For any number of changes, one after the other. The work for each does not depend on how many came before it.
--
-- KEYS[2i-1], [2i]  of change i: the order of the cart's user (string), and the cart (string or hash as in changes.lua)
-- ARGV[1]           pieces that a cart may hold: 1 to 9
-- ARGV[2]           lifetime of a cart: seconds > 0
-- ARGV[3]           bytes that a list of changes must pass to ask for more pieces than that: integer
-- ARGV[2i+2]        of change i: where it ends in the list to which it was appended: bytes > 0; 0 when it was not
-- ARGV[2i+3]        of change i: the change itself: string; one alone never asks for more than the limit
--
-- Returns for each change
--         0  it had its effect, or its cart has been ordered meanwhile and stays as it is
--         1  the cart would have held more than the limit: it had none
--         2  as 0, and it began a new cart
local DONE, OVER_LIMIT, BEGAN = 0, 1, 2
local limit, lifetime, plain = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local call = redis.call
-- While a cart has named no more foods than this, it remembers the place of those that are gone.
local REMEMBERED = 32

-- items works out what a list of changes amounts to, as a list of changes, and whether the last one had its effect.
local function items(changes)
  local foods, counts, accepted = settle(changes, limit)
  return list(foods, counts, #foods > REMEMBERED and 1 or 0), accepted
end

-- read returns the cart's list of changes, and of a settled cart also its items; nothing where there is no cart.
local function read(cart)
  local changes = redis.pcall('GET', cart)
  if type(changes) ~= 'table' then return changes end
  local fields = call('HMGET', cart, 'changes', 'items')
  return fields[1], fields[2]
end

local function settleCart(cart, changes)
  local milliseconds = call('PTTL', cart)
  call('DEL', cart)
  call('HSET', cart, 'changes', changes, 'items', (items(changes)))
  -- The EXPIRE of a new cart may still be on its way.
  call('PEXPIRE', cart, milliseconds > 0 and milliseconds or lifetime * 1000)
end

-- add makes a change that is in no list.
local function add(cart, change, changes, settled)
  if not changes then
    call('SET', cart, change, 'EX', lifetime)
    return BEGAN
  end
  if not settled and #changes + #change <= plain then
    call('APPEND', cart, change)
    return DONE
  end
  if not settled then
    settleCart(cart, changes)
    settled = items(changes)
  end
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
  -- The list is gone. Was it ordered, then either the change is in the order, or it came too late and changes nothing.
  if call('EXISTS', order) == 1 then return DONE end
  return add(cart, change, changes, settled) -- it has expired
end

local codes = {}
for i = 1, #KEYS / 2 do
  codes[i] = decide(KEYS[2 * i - 1], KEYS[2 * i], tonumber(ARGV[2 * i + 2]), ARGV[2 * i + 3])
end
return codes
