-- Notes the payment that the provider has opened for an order, or that it has opened none. With
-- shared.lua in front; KEYS as there.
--
-- ARGV[1]  user, ARGV[2] number of the order: integers
-- ARGV[3]  which payment of the order this is, see pay.lua: integer > 0
-- ARGV[4]  its id at the provider: string without spaces; "-" if the provider has refused to open one
-- ARGV[5]  amount: integer >= 0, in minor units
--
-- Returns 0  it is the order's payment now; or none is open, and the next one is another
--         1  it must be ended: the order is released or paid, or has a later payment. It is noted as void
local user, number, attempt = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local payment, amount = ARGV[4], ARGV[5]
local PAYABLE, VOID = 0, 1

local o = read(user, call('GET', order))
local mine = false
if o and o.number == number and o.state == 'paying' then
  local last, begun = attemptOf(o)
  mine = last == attempt and begun > 0
end
if payment == '-' then
  if mine and o.payment == '-' then begin(o, attempt, 0) end
  return PAYABLE
end
local known = call('HEXISTS', payments, payment) == 1 -- its event may have come first
if mine then
  o.payment = payment
  call('SET', order, text(o))
end
if not known then
  local one = {user = user, number = number}
  note(payment, one, amount, mine and 'open' or 'void')
  call('HSET', payments, openedField(one), openedOf(one) + 1)
end
return mine and PAYABLE or VOID
