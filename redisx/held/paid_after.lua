-- Notes that a payment was made for an order of a sale that has ended: it is due to be given back. With
-- shared.lua in front; KEYS as there, of that sale; KEYS[1], [2] and [9] are not used.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  the payment's id: string without spaces
-- ARGV[4]  amount that was paid: integer >= 0, in minor units
--
-- Returns 1  the payment was noted before: nothing is changed
--         2  the payment is due to be given back
--         3  the payment is another order's: nothing is changed
local user, number, payment, paid = unpack(ARGV, 1, 4)
local BEFORE, REFUND, NONE, REASON = 1, 2, 3, 'closed'

local owner, of, _, known = noted(payment)
if owner and (owner ~= user or of ~= number) then return NONE end
if isMade(known) then return BEFORE end
local now = clock()
local o = read(user, call('HGET', released, user .. '-' .. number))
refund(payment, o or {user = user, number = number}, paid, now, REASON)
if o then owe(o, payment, paid, now, REASON) end
return REFUND
