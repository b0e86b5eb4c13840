-- Notes that a payment was given back, also for an order of a sale that has ended. With shared.lua and
-- ended.lua in front; KEYS as there.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  the payment's id: string
--
-- Returns 0  done, now or before
--         1  no such payment is due to be given back: nothing is changed
local user, number, payment = ARGV[1], ARGV[2], ARGV[3]
local DONE, NONE = 0, 1

local owner, of, amount, state, reason = noted(payment)
if owner ~= user or of ~= number then return NONE end
if state == 'refunded' then return DONE end
if state ~= 'refund_due' then return NONE end
call('HSET', payments, payment .. '/since', call('ZSCORE', refunds, payment))
call('ZADD', refunds, -clock(), payment)
note(payment, {user = user, number = number}, amount, 'refunded', reason)
local o = find(user, number)
if not o then
  tellUnknown(user, number, 'refunded', 'payment', payment, 'amount', amount)
  return DONE
end
if o.state == 'refund_due' and o.payment == payment then o.state = 'refunded' end
tellOf(o, 'refunded', 'payment', payment, 'amount', amount)
return DONE
