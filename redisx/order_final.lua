-- Orders are final at once. Not a script by itself: scripts.go puts it in front of order.lua, behind
-- event.lua. It defines SHARED_KEYS, SHARED_ARGS, BEFORE_MAX, EVENTS and hold.
--
-- KEYS[6]  the stream of events, see event.lua: without that stream no order is an event
local SHARED_KEYS, SHARED_ARGS, BEFORE_MAX, hold, ordersBefore, releasedUnder = 6, 3, 0, nil, nil, nil
local EVENTS = KEYS[6]
local function numberOf() return 0 end
