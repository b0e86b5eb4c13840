-- What the scripts of held orders share. Not a script by itself: scripts.go puts it in front of them, behind
-- ../event.lua. It defines their keys, and the functions below.
--
-- KEYS[1]  the user's order: string, see ../order.lua and ../order_held.lua
-- KEYS[2]  the stock: hash food id -> pieces left, "~" food id -> pieces of held orders, orders
-- KEYS[3]  users whose orders are held, by when the hold ends: sorted set, Unix ms
-- KEYS[4]  released orders: hash user -> how many orders the user has had,
--          "user-number" -> the order as it was, its third line "state number events at payment"; state is
--          "released", "refund_due" or "refunded"; behind it a line with the reason
-- KEYS[5]  payments: hash id -> "user number amount state reason", state is "open", "void", "paid",
--          "refund_due" or "refunded", with a reason for the last two; "id~n" is a part of that payment;
--          "id/since" -> since when one that was given back had been due, Unix ms;
--          "user/number" -> "attempt begun": how many were begun for that order, and when the last one was,
--          Unix ms; 0 if the next one must be another;
--          "user/number/opened" -> how many the provider has opened for it
-- KEYS[6]  payments to give back, by since when: sorted set, Unix ms; below 0: by when that was done
-- KEYS[7]  the stream of events, see ../event.lua
-- KEYS[8]  the log of the sale: stream
-- KEYS[9]  the gate, which is there while the sale is open
-- KEYS[10] what orders have used, see ../order_rules.lua: hash
-- KEYS[11] the orders once the sale has ended: hash user -> the order as in KEYS[1] or KEYS[4]
-- KEYS[12] the marker of the slice: hash
local order, stock, holds, released, payments, refunds, events, log, gate = unpack(KEYS, 1, 9)
local used, past, marker = unpack(KEYS, 10, 12)
local call = redis.call

-- clock returns the time of Redis in Unix ms, as a text.
local function clock()
  local time = call('TIME')
  return time[1] .. string.sub(1000000 + time[2], 2, 4)
end

-- read returns the order in a value; nil without a value, or for an order that was never held.
local function read(user, value)
  local items, key, placed, state, number, seq, till, payment, reason =
    string.match(value or '', '^([^|]*)|([^\n]*)\n(%d+)\n(%S+) (%d+) (%d+) (%d+) (%S+)\n?(.*)$')
  if not items then return end
  return {user = user, items = items, key = key, placed = placed, state = state, number = tonumber(number),
    seq = tonumber(seq), till = till, payment = payment, reason = reason}
end

-- text is the value of an order.
local function text(o)
  return string.format('%s|%s\n%s\n%s %d %d %s %s', o.items, o.key, o.placed, o.state, o.number, o.seq,
    o.till, o.payment)
end

-- change notes a new state of an order: in memory, and as an event with these fields.
local function change(o, state, at, ...)
  o.state, o.till, o.seq = state, at, o.seq + 1
  tell(events, o.user, o.number, o.seq, state, ...)
end

-- move adds the pieces of items to the stock, or with sign -1 takes them away.
local function move(items, sign)
  for food, count in string.gmatch(items, '(%d+):(%d)') do call('HINCRBY', stock, food, sign * count) end
end

-- hold counts the pieces of items as held, or with sign -1 no longer.
local function hold(items, sign)
  for food, count in string.gmatch(items, '(%d+):(%d)') do
    call('HINCRBY', stock, '~' .. food, sign * count)
  end
end

-- take takes all pieces of items from the stock or none, and returns whether it did.
local function take(items)
  for food, count in string.gmatch(items, '(%d+):(%d)') do
    if tonumber(call('HGET', stock, food) or 0) < tonumber(count) then return false end
  end
  move(items, -1)
  return true
end

-- kept is the value of an order that was released, and keep keeps it.
local function kept(o) return text(o) .. '\n' .. o.reason end
local function keep(o) call('HSET', released, o.user .. '-' .. o.number, kept(o)) end

-- usesOf returns the fields of used that an order has filled, or would fill again, each with its count.
local function usesOf(o)
  local noted = call('HGET', used, 'u:' .. o.user .. '-' .. o.number) or '|'
  local household, coupon = string.match(noted, '^([^|]*)|(.*)$')
  local uses = {}
  if household ~= '' then uses['h:' .. household] = 'households' end
  if coupon ~= '' then uses['c:' .. coupon] = 'coupons' end
  return uses
end

-- isUsed reports whether other orders have used what a released order has.
local function isUsed(o)
  for field in pairs(usesOf(o)) do
    if call('HEXISTS', used, field) == 1 then return true end
  end
  return false
end

-- useAgain notes that a released order uses again what it has.
local function useAgain(o)
  for field, count in pairs(usesOf(o)) do
    call('HSET', used, field, o.user .. '-' .. o.number)
    call('HINCRBY', used, count, 1)
  end
end

-- giveUp lets others use what an order has.
local function giveUp(o)
  for field, count in pairs(usesOf(o)) do
    call('HINCRBY', used, count, -call('HDEL', used, field))
  end
end

-- release ends an order that holds pieces or has them: they go back, and the user may order again. The event
-- has further fields.
local function release(key, o, state, at, reason, ...)
  move(o.items, 1)
  giveUp(o)
  call('HINCRBY', stock, 'orders', -1)
  if o.state ~= 'paid' then hold(o.items, -1) end
  o.reason = reason
  change(o, state, at, 'items', o.items, 'reason', reason, ...)
  call('ZREM', holds, o.user)
  call('DEL', key)
  local had = tonumber(call('HGET', released, o.user) or 0)
  call('HSET', released, o.user, math.max(had, o.number + 1), o.user .. '-' .. o.number, kept(o))
end

-- note notes the state of a payment.
local function note(payment, o, amount, state, reason)
  local value = string.format('%s %d %s %s %s', o.user, o.number, amount, state, reason or '')
  call('HSET', payments, payment, value)
end

-- noted returns user, number, amount, state and reason of a payment, nil for one that is not noted.
local function noted(payment)
  return string.match(call('HGET', payments, payment) or '', '^(%d+) (%d+) (%d+) (%S+) (.*)$')
end

-- isMade reports whether a payment with this state was made.
local function isMade(state)
  return state == 'paid' or state == 'refund_due' or state == 'refunded'
end

-- attemptOf returns how many payments of an order were begun, and when the last one was.
local function attemptOf(o)
  local value = call('HGET', payments, o.user .. '/' .. o.number)
  local attempt, begun = string.match(value or '', '^(%d+) (%d+)$')
  return tonumber(attempt or 0), tonumber(begun or 0)
end

-- begin notes that payment of an order, see attemptOf.
local function begin(o, attempt, at)
  call('HSET', payments, o.user .. '/' .. o.number, string.format('%d %d', attempt, at))
end

local function openedField(o) return o.user .. '/' .. o.number .. '/opened' end

-- openedOf returns how many payments the provider has opened for an order.
local function openedOf(o) return tonumber(call('HGET', payments, openedField(o)) or 0) end

-- void ends the open payment of an order and returns its id, "-" for none.
local function void(o)
  local _, _, amount, state = noted(o.payment)
  begin(o, attemptOf(o), 0)
  if state ~= 'open' then return '-' end
  note(o.payment, o, amount, 'void')
  return o.payment
end

-- refund notes that a payment, or a part of it, must be given back.
local function refund(payment, o, amount, at, reason)
  note(payment, o, amount, 'refund_due', reason)
  call('ZADD', refunds, at, payment)
end
