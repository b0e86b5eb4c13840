-- Events of orders. Not a script by itself: it stands in front of order_held.lua and of the scripts of
-- package held. It defines tell.
--
-- An event is an entry of the stream of its slice: user, number (of the user's orders before this one), seq
-- (1 for the first event of the order, without gaps), what, and fields that belong to some kinds.
--
-- An order that is final at once has one event, placed, if the stream is there: package events makes it.
--
-- Where the sale keeps a ledger, the order also goes into its stream once more: user, number. Of a new order
-- (seq 1) order.lua does that.

-- tell adds an event.
local function tell(events, user, number, seq, what, ...)
  local call, ledger = redis.call, string.gsub(events, '^events_', 'orders_')
  call('XADD', events, '*', 'user', user, 'number', number, 'seq', seq, 'what', what, ...)
  if seq > 1 and call('EXISTS', ledger) == 1 then
    call('XADD', ledger, '*', 'user', user, 'number', number)
  end
end
