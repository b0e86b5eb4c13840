-- Orders are final at once. Not a script by itself: scripts.go puts it in front of order.lua. It defines
-- SHARED_KEYS, SHARED_ARGS, BEFORE_MAX and hold.
local SHARED_KEYS, SHARED_ARGS, BEFORE_MAX, hold, ordersBefore, releasedUnder = 5, 3, 0, nil, nil, nil
local function numberOf() return 0 end
