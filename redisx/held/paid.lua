-- Notes that a payment was made: the order is paid. If its hold has expired meanwhile it is sold again, if
-- that can be; else the money is due to be given back. With rules.lua in front; KEYS as there, and
--
-- KEYS[10] the event of the provider: string, empty
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  the payment's id: string without spaces
-- ARGV[4]  amount that was paid: integer >= 0, in minor units
-- ARGV[5]  amount that the order costs: integer >= 0, in minor units; only for a payment that is not known
-- ARGV[6]  how long the event's id is remembered: seconds
--
-- Returns 0  the order is paid
--         1  the event, or the payment, was noted before: nothing is changed
--         2  the payment is due to be given back
--         3  there was no such order: nothing is changed
--         4  Redis does not hold the sale: nothing is changed
local seen, user, number, payment, paid = KEYS[10], ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local PAID, BEFORE, REFUND, NONE, NO_SALE = 0, 1, 2, 3, 4

if call('EXISTS', stock) == 0 then return NO_SALE end
local value = call('GET', order)
local o = read(user, value)
local live = o and o.number == number
if not live then o = read(user, call('HGET', released, user .. '-' .. ARGV[2])) end
if not o then return NONE end
local _, _, amount, known = noted(payment)
if isMade(payment) or not call('SET', seen, '', 'NX', 'EX', ARGV[6]) then return BEFORE end

local now, price = clock(), amount or ARGV[5]
local reason = paid ~= price and 'amount' or known == 'void' and live and 'ended' or
  o.state == 'paid' and 'twice' or o.state ~= 'released' and not live and o.state or nil
if not reason and not live then -- the hold was over: once more at the price of then
  reason = o.reason ~= 'expired' and 'cancelled' or value and 'other order' or
    call('EXISTS', gate) == 0 and 'closed' or not take(o.items) and 'sold out' or nil
  if not reason then
    call('HINCRBY', stock, 'orders', 1)
    call('HDEL', released, user .. '-' .. ARGV[2])
  end
elseif not reason then
  hold(o.items, -1)
  call('ZREM', holds, user)
end
if not reason then
  o.payment = payment
  change(o, 'paid', now, 'payment', payment, 'amount', paid)
  call('SET', order, text(o))
  note(payment, o, paid, 'paid')
  return PAID
end
refund(payment, o, paid, now, reason)
if live then
  o.seq = o.seq + 1
  tell(events, user, number, o.seq, 'refund_due', 'payment', payment, 'amount', paid, 'reason', reason)
  call('SET', order, text(o))
else
  owe(o, payment, paid, now, reason)
end
return REFUND
