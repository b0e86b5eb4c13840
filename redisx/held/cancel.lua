-- Ends an order: a held one for its buyer or for root, a paid one for root. With rules.lua in front; KEYS as
-- there.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  who ends it: string; "" for its buyer, who cannot end a paid one
-- ARGV[4]  why: string
--
-- Returns {code, payment}: the payment that must be ended now, "-" for none. code is
--         0  ended, the pieces are back
--         1  there is no such order, or it was released: nothing is changed
--         2  it is paid, and its buyer cannot end it: nothing is changed
--         3  ended; its payment is due to be given back
local user, number, by, why = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local ENDED, NONE, IS_PAID, REFUND = 0, 1, 2, 3

local o, now = read(user, call('GET', order)), clock()
if not o or o.number ~= number or call('EXISTS', stock) == 0 then return {NONE, '-'} end
if o.state == 'paid' and by == '' then return {IS_PAID, '-'} end
local payment, items, code = o.payment, o.items, ENDED
if o.state ~= 'paid' then
  payment = void(o)
  release(order, o, 'released', now, why)
else
  local _, _, amount = noted(payment)
  if amount ~= '0' then
    refund(payment, o, amount, now, why)
    code = REFUND
  end
  release(order, o, code == REFUND and 'refund_due' or 'released', now, why)
  payment = '-'
end
if by ~= '' then
  call('XADD', log, '*', 'by', by, 'what', 'order', 'user', user, 'number', number, 'items', items, 'left', '',
    'reason', why)
end
return {code, payment}
