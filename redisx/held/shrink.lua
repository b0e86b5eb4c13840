-- Takes pieces out of an order, for root. With rules.lua in front; KEYS as there.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  who: string
-- ARGV[4]  why: string
-- ARGV[5]  what the order was: string "food:count,food:count,"
-- ARGV[6]  what is left of it: the same, with at least one food
-- ARGV[7]  what goes: the same
-- ARGV[8]  what is due to be given back if the order is paid: integer >= 0, in minor units
--
-- Returns {code, payment}: the payment that must be ended now, "-" for none. code is
--         0  done
--         1  there is no such order, or it was released: nothing is changed
--         2  the order is not ARGV[5]: nothing is changed
--         3  done; the amount is due to be given back
local user, number, by, why, was, left, goes, amount = unpack(ARGV)
local DONE, NONE, OTHER, REFUND = 0, 1, 2, 3

local o, now = read(user, call('GET', order)), clock()
if not o or o.number ~= tonumber(number) or call('EXISTS', stock) == 0 then return {NONE, '-'} end
if string.gsub(o.items, ' ', '') ~= was then return {OTHER, '-'} end
move(goes, 1)
o.items, o.seq = left, o.seq + 1
tell(events, user, number, o.seq, 'corrected', 'items', left, 'reason', why)
call('XADD', log, '*', 'by', by, 'what', 'order', 'user', user, 'number', number, 'items', was, 'left', left,
  'reason', why)
local code, void = DONE, '-'
if o.state == 'paid' then
  local part = string.format('%s/%d', o.payment, o.seq)
  refund(part, o, amount, now)
  o.seq = o.seq + 1
  tell(events, user, number, o.seq, 'refund_due', 'payment', part, 'amount', amount, 'reason', why)
  code = REFUND
else
  hold(goes, -1)
  void, o.payment = o.payment, '-'
  if void ~= '-' then note(void, o, 0, 'void') end
end
call('SET', order, text(o))
return {code, void}
