-- What the scripts share that find an order wherever it is: of a sale that goes on, of one that has ended,
-- or one that was released. Not a script by itself: scripts.go puts it behind shared.lua.
--
-- Once a turnover has begun the ledger has read all that it wants. From there on events are told to others
-- only, and the stream stays until the room of events lets it expire again.
local found = call('HMGET', marker, 'id', 'next_id')
local isHere = found[1] and string.find(past, '^past_' .. found[1]) -- or a turnover still moves its orders
local isOver = not isHere or found[2]

-- find returns an order, with the key where it is as o.at; nil where there is none.
local function find(user, number)
  local values = {[order] = isHere and call('GET', order), [past] = call('HGET', past, user),
    [released] = call('HGET', released, user .. '-' .. number)}
  for at, value in pairs(values) do
    local o = read(user, value or nil)
    if o and o.number == tonumber(number) then
      o.at = at
      return o
    end
  end
end

-- put writes an order that find has returned.
local function put(o)
  if o.at == order then
    call('SET', order, text(o))
  elseif o.at == past then
    call('HSET', past, o.user, o.reason == '' and text(o) or kept(o))
  else
    keep(o)
  end
end

-- tellOf tells of an order that find has returned, and writes it.
local function tellOf(o, what, ...)
  o.seq = o.seq + 1
  put(o)
  if not isOver then return tell(events, o.user, o.number, o.seq, what, ...) end
  call('XADD', events, '*', 'user', o.user, 'number', o.number, 'seq', o.seq, 'what', what, ...)
  call('PERSIST', events)
end

-- tellUnknown tells of an order that is not kept: the event has no seq.
local function tellUnknown(user, number, what, ...)
  call('XADD', events, '*', 'user', user, 'number', number, 'what', what, ...)
  call('PERSIST', events)
end

-- owe notes and tells that a payment for an order must be given back. The state of a released order never
-- goes back.
local function owe(o, payment, amount, at, reason)
  refund(payment, o, amount, at, reason)
  if o.state == 'released' then o.state, o.till, o.payment, o.reason = 'refund_due', at, payment, reason end
  tellOf(o, 'refund_due', 'payment', payment, 'amount', amount, 'reason', reason)
end
