-- Notes that a payment was given back. With shared.lua in front; KEYS as there.
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
local o = call('EXISTS', stock) == 1 and read(user, call('GET', order)) -- another sale has orders of its own
local live = o and o.number == tonumber(number)
if not live then o = read(user, call('HGET', released, user .. '-' .. number)) end
if not o then return DONE end -- of a sale that has ended
o.seq = o.seq + 1
tell(events, user, number, o.seq, 'refunded', 'payment', payment, 'amount', amount)
if live then
  call('SET', order, text(o))
else
  if o.payment == payment then o.state = 'refunded' end
  keep(o)
end
return DONE
