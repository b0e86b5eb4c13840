-- Events of orders. Not a script by itself: it stands in front of order_held.lua and of the scripts of
-- package held. It defines tell.
--
-- An event is an entry of the stream of its slice: user, number (of the user's orders before this one), seq
-- (1 for the first event of the order, without gaps), what, and fields that belong to some kinds.

-- tell adds an event.
local function tell(events, user, number, seq, what, ...)
  redis.call('XADD', events, '*', 'user', user, 'number', number, 'seq', seq, 'what', what, ...)
end
