-- Begins a payment for a held order. The hold is extended once, when its first payment begins. With shared.lua
-- in front; KEYS as there.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  how long a payment may take: milliseconds
-- ARGV[4]  payments that an order may have: integer > 0
--
-- Returns {code, attempt, till, items, before}: the number of this payment, from 1; when the hold ends, Unix
-- ms; what was ordered; the payment before, which must be ended now, "-" for none. code is
--         0  begun
--         1  there is no such order, or it was released: nothing is changed
--         2  it is paid: nothing is changed
--         3  it has had too many payments: nothing is changed
local user, number, limit, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local BEGUN, NONE, PAID, TOO_MANY = 0, 1, 2, 3

local o, now = read(user, call('GET', order)), clock()
if not o or o.number ~= number then return {NONE, 0, 0, '', ''} end
if o.state == 'paid' then return {PAID, 0, 0, '', ''} end
if tonumber(o.till) <= tonumber(now) then return {NONE, 0, 0, '', ''} end -- it is released in a moment
local attempts = user .. '-' .. ARGV[2]
if tonumber(call('HGET', payments, attempts) or 0) >= most then return {TOO_MANY, 0, 0, '', ''} end
local attempt, before = call('HINCRBY', payments, attempts, 1), o.payment
if o.state == 'held' then
  local till = string.format('%d', math.max(tonumber(o.till), now + limit))
  change(o, 'paying', till, 'till', till)
  call('ZADD', holds, till, user)
end
o.payment = '-'
call('SET', order, text(o))
if before ~= '-' then
  local amount = string.match(call('HGET', payments, before) or '', '^%d+ %d+ (%d+)')
  note(before, o, amount or 0, 'void')
end
return {BEGUN, attempt, tonumber(o.till), o.items, before}
