-- Notes that a payment was made: the order is paid. If its hold has expired meanwhile it is sold again, if
-- that can be; else the money is due to be given back. The payment's id tells whether it was noted before:
-- the provider may tell it any number of times. With shared.lua and ended.lua in front; KEYS as there.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  the payment's id: string without spaces
-- ARGV[4]  amount that was paid: integer >= 0, in minor units
-- ARGV[5]  what the order is: string "food:count,food:count,"
-- ARGV[6]  what that costs: integer >= 0, in minor units
--
-- Returns 0  the order is paid
--         1  the payment was noted before: nothing is changed
--         2  the payment is due to be given back
--         3  there was no such order, the payment is another order's, or it is of 0 and buys nothing:
--            nothing is changed
--         4  Redis does not hold the sale: nothing is changed
--         5  the order is not ARGV[5]: nothing is changed
local user, number, payment, paid, items, price = ARGV[1], tonumber(ARGV[2]), unpack(ARGV, 3)
local PAID, BEFORE, REFUND, NONE, NO_SALE, OTHER = 0, 1, 2, 3, 4, 5

if call('EXISTS', stock) == 0 then return NO_SALE end
local o = find(user, number)
if not o then return NONE end
local live = o.at == order
local owner, of, _, known = noted(payment)
if owner and (owner ~= user or of ~= ARGV[2]) then return NONE end
if isMade(known) then return BEFORE end
if string.gsub(o.items, ' ', '') ~= items then return OTHER end

local now = clock()
local reason = paid ~= price and 'amount' or known == 'void' and live and 'ended' or
  o.state == 'paid' and 'twice' or o.state ~= 'released' and not live and o.state or nil
if not reason and not live then -- the hold was over: once more at the price of then
  reason = o.reason ~= 'expired' and 'cancelled' or call('EXISTS', order) == 1 and 'other order' or
    call('EXISTS', gate) == 0 and 'closed' or isUsed(o) and 'rule' or
    not take(o.items) and 'sold out' or nil
  if not reason then
    useAgain(o)
    call('HINCRBY', stock, 'orders', 1)
    call('HDEL', released, user .. '-' .. ARGV[2])
  end
elseif not reason then
  hold(o.items, -1)
  call('ZREM', holds, user)
end
if reason and paid == '0' then return NONE end
if not reason then
  o.payment = payment
  change(o, 'paid', now, 'payment', payment, 'amount', paid)
  call('SET', order, text(o))
  note(payment, o, paid, 'paid')
  return PAID
end
owe(o, payment, paid, now, reason)
return REFUND
