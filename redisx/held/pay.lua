-- Begins a payment for a held order. The hold is extended once, when its first payment begins. A payment
-- that was begun and not noted (payable.lua) is begun again: the provider may have it already. With
-- shared.lua in front; KEYS as there.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  how long a payment may take: milliseconds
-- ARGV[4]  payments that the provider may open for an order: integer > 0
--
-- Returns {code, attempt, begun, till, items, before}: the number of this payment, from 1; when it was begun
-- first and when the hold ends, Unix ms; what was ordered; the payment before, which must be ended now, "-"
-- for none. code is
--         0  begun
--         1  there is no such order, or it was released: nothing is changed
--         2  it is paid: nothing is changed
--         3  it has had too many payments: nothing is changed
local user, number, limit, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local BEGUN, NONE, PAID, TOO_MANY = 0, 1, 2, 3
local function refuse(code) return {code, 0, 0, 0, '', ''} end

local o, now = read(user, call('GET', order)), tonumber(clock())
if not o or o.number ~= number then return refuse(NONE) end
if o.state == 'paid' then return refuse(PAID) end
if tonumber(o.till) <= now then return refuse(NONE) end -- it is released in a moment
local attempt, begun = attemptOf(o)
local before = '-'
if begun == 0 or o.payment ~= '-' then
  if openedOf(o) >= most then return refuse(TOO_MANY) end
  before = void(o)
  attempt, begun = attempt + 1, now
  begin(o, attempt, begun)
end
if o.state == 'held' then
  local till = string.format('%d', math.max(tonumber(o.till), now + limit))
  change(o, 'paying', till, 'till', till)
  call('ZADD', holds, till, user)
end
o.payment = '-'
call('SET', order, text(o))
return {BEGUN, attempt, begun, tonumber(o.till), o.items, before}
