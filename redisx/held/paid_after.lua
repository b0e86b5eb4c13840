-- Notes that a payment was made for an order of a sale that has ended: it is due to be given back. With
-- shared.lua and ended.lua in front; KEYS as there, of that sale; KEYS[1], [2] and [9] are not used.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  the payment's id: string without spaces
-- ARGV[4]  amount that was paid: integer >= 0, in minor units
-- ARGV[5]  the reason where no such order is kept: string
--
-- Returns 1  the payment was noted before: nothing is changed
--         2  the payment is due to be given back
--         3  the payment is another order's: nothing is changed
--         4  the payment is due to be given back, and no such order is kept
local user, number, payment, paid, unknown = unpack(ARGV, 1, 5)
local BEFORE, REFUND, NONE, UNKNOWN = 1, 2, 3, 4

local owner, of, _, known = noted(payment)
if owner and (owner ~= user or of ~= number) then return NONE end
if isMade(known) then return BEFORE end
local o, now = find(user, number), clock()
if o then
  owe(o, payment, paid, now, o.state == 'paid' and 'twice' or 'closed')
  return REFUND
end
refund(payment, {user = user, number = number}, paid, now, unknown)
tellUnknown(user, number, 'refund_due', 'payment', payment, 'amount', paid, 'reason', unknown)
return UNKNOWN
