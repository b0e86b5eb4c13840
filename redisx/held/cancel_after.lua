-- Ends a paid order of a sale that has ended, for root: its money is due to be given back. Its pieces stay
-- counted as sold: that sale sells nothing more. With shared.lua and ended.lua in front; KEYS as there, of
-- that sale.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  who ends it: string
-- ARGV[4]  why: string
--
-- Returns {code, due, amount}: the payment that is due to be given back, "-" for none, and what of it in
-- minor units. code is
--         0  ended
--         1  there is no such order, or it is not paid: nothing is changed
--         2  the sale has not ended yet: nothing is changed
local user, number, by, why = unpack(ARGV, 1, 4)
local ENDED, NONE, NOT_OVER = 0, 1, 2

local o = find(user, number)
if not o or o.state ~= 'paid' then return {NONE, '-', 0} end
if o.at ~= past then return {NOT_OVER, '-', 0} end
local now = clock()
local _, _, amount = noted(o.payment)
o.till, o.reason = now, why
call('XADD', log, '*', 'by', by, 'what', 'order', 'user', user, 'number', number, 'items', o.items,
  'left', '', 'reason', why)
if not amount or amount == '0' then
  o.state = 'released'
  tellOf(o, 'released', 'reason', why)
  return {ENDED, '-', 0}
end
o.state = 'refund_due'
owe(o, o.payment, amount, now, why)
return {ENDED, o.payment, tonumber(amount)}
