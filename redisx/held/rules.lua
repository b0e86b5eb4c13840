-- What the scripts of held orders share. Not a script by itself: scripts.go puts it in front of them, behind
-- ../event.lua. It defines their keys, clock, read, text, change, move, hold, take, keep, release, note and
-- refund.
--
-- KEYS[1]  the user's order: string, see ../order.lua and ../order_held.lua
-- KEYS[2]  the stock: hash food id -> pieces left, "~" food id -> pieces of held orders, orders
-- KEYS[3]  users whose orders are held, by when the hold ends: sorted set, Unix ms
-- KEYS[4]  released orders: hash user -> how many orders the user has had,
--          "user-number" -> the order as it was, its third line "state number events at payment"; state is
--          "released", "refund_due" or "refunded"; the rest is the reason
-- KEYS[5]  payments: hash id -> "user number amount state", state is "open", "void", "paid", "refund_due" or
--          "refunded"; "user-number" -> how many were opened for that order
-- KEYS[6]  payments to refund, by since when: sorted set, Unix ms
-- KEYS[7]  the stream of events, see ../event.lua
-- KEYS[8]  the log of the sale: stream
-- KEYS[9]  the gate, which is there while the sale is open
local order, stock, holds, released, payments, refunds, events, log, gate = unpack(KEYS, 1, 9)
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

-- keep keeps an order that was released, with its reason behind its value.
local function keep(o)
  call('HSET', released, o.user .. '-' .. o.number, text(o) .. '\n' .. o.reason)
end

-- release ends an order that holds pieces or has them: they go back, and the user may order again.
local function release(key, o, state, at, reason)
  move(o.items, 1)
  call('HINCRBY', stock, 'orders', -1)
  if o.state ~= 'paid' then hold(o.items, -1) end
  o.reason = reason
  change(o, state, at, 'items', o.items, 'reason', reason)
  call('ZREM', holds, o.user)
  call('DEL', key)
  if tonumber(call('HGET', released, o.user) or 0) <= o.number then
    call('HSET', released, o.user, o.number + 1)
  end
  keep(o)
end

-- note notes the state of a payment.
local function note(payment, o, amount, state)
  call('HSET', payments, payment, string.format('%s %d %s %s', o.user, o.number, amount, state))
end

-- refund notes that a payment, or a part of it, must be given back.
local function refund(payment, o, amount, at)
  note(payment, o, amount, 'refund_due')
  call('ZADD', refunds, at, payment)
end
