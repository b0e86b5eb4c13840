-- Notes that a payment was made for an order of a sale that has ended: it is due to be given back. With
-- rules.lua in front; KEYS as there, of that sale; KEYS[1], [2] and [9] are not used. And
--
-- KEYS[10] the event of the provider: string, empty
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  the payment's id: string without spaces
-- ARGV[4]  amount that was paid: integer >= 0, in minor units
-- ARGV[5]  how long the event's id is remembered: seconds
--
-- Returns 1  the event, or the payment, was noted before: nothing is changed
--         2  the payment is due to be given back
local seen, user, number, payment, paid = KEYS[10], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local BEFORE, REFUND, REASON = 1, 2, 'closed'

if isMade(payment) or not call('SET', seen, '', 'NX', 'EX', ARGV[5]) then return BEFORE end
local now = clock()
local o = read(user, call('HGET', released, user .. '-' .. number))
refund(payment, o or {user = user, number = number}, paid, now, REASON)
if o then owe(o, payment, paid, now, REASON) end
return REFUND
