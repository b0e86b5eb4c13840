-- Takes pieces out of an order, for root. With shared.lua in front; KEYS as there.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  who: string
-- ARGV[4]  why: string
-- ARGV[5]  what the order was: string "food:count,food:count,"
-- ARGV[6]  what is left of it: the same, with at least one food
-- ARGV[7]  what goes: the same
-- ARGV[8]  what is due to be given back if the order is paid: integer >= 0, in minor units
--
-- Returns {code, end, due, amount}: the payment that must be ended now; what is due to be given back, "-"
-- for nothing, and how much, in minor units. code is
--         0  done
--         1  there is no such order, or it was released: nothing is changed
--         2  the order is not ARGV[5]: nothing is changed
local user, number, by, why, was, left, goes, amount = unpack(ARGV)
local DONE, NONE, OTHER = 0, 1, 2

local o, now = read(user, call('GET', order)), clock()
if not o or o.number ~= tonumber(number) or call('EXISTS', stock) == 0 then return {NONE, '-', '-', 0} end
if string.gsub(o.items, ' ', '') ~= was then return {OTHER, '-', '-', 0} end
move(goes, 1)
o.items, o.seq = left, o.seq + 1
tell(events, user, number, o.seq, 'corrected', 'items', left, 'reason', why)
call('XADD', log, '*', 'by', by, 'what', 'order', 'user', user, 'number', number, 'items', was, 'left', left,
  'reason', why)
local ended, due = '-', '-'
if o.state ~= 'paid' then
  hold(goes, -1)
  ended = void(o)
  o.payment = '-'
elseif tonumber(amount) > 0 then
  due = string.format('%s~%d', o.payment, o.seq)
  local _, _, whole = noted(o.payment)
  note(o.payment, o, string.format('%d', whole - amount), 'paid') -- %s writes 14 digits of a number
  refund(due, o, amount, now, why)
  o.seq = o.seq + 1
  tell(events, user, number, o.seq, 'refund_due', 'payment', due, 'amount', amount, 'reason', why)
end
call('SET', order, text(o))
return {DONE, ended, due, due ~= '-' and tonumber(amount) or 0}
