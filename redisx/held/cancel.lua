-- Ends an order: a held one for its buyer or for root, a paid one for root. With shared.lua in
-- front; KEYS as there.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  who ends it: string; "" for its buyer, who cannot end a paid one
-- ARGV[4]  why: string
--
-- Returns {code, end, due, amount}: the payment that must be ended now; the payment that is due to be given
-- back, "-" for none, and what of it in minor units. code is
--         0  ended, the pieces are back
--         1  there is no such order, or it was released: nothing is changed
--         2  it is paid, and its buyer cannot end it: nothing is changed
local user, number, by, why = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local ENDED, NONE, IS_PAID = 0, 1, 2

local o, now = read(user, call('GET', order)), clock()
if not o or o.number ~= number or call('EXISTS', stock) == 0 then return {NONE, '-', '-', 0} end
if o.state == 'paid' and by == '' then return {IS_PAID, '-', '-', 0} end
local items, ended, due, amount, _ = o.items, '-', '-', '0', nil
if o.state ~= 'paid' then
  ended = void(o)
else
  _, _, amount = noted(o.payment)
  if amount ~= '0' then
    due = o.payment
    refund(due, o, amount, now, why)
  end
end
if due == '-' then
  release(order, o, 'released', now, why)
else
  release(order, o, 'refund_due', now, why, 'payment', due, 'amount', amount)
end
if by ~= '' then
  call('XADD', log, '*', 'by', by, 'what', 'order', 'user', user, 'number', number, 'items', items,
    'left', '', 'reason', why)
end
return {ENDED, ended, due, tonumber(amount)}
