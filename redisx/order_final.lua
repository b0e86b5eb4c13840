-- Orders are final at once. Not a script by itself: scripts.go puts it in front of order.lua. It defines
-- SHARED_KEYS, SHARED_ARGS, BEFORE_MAX, hold and ordersBefore.
local SHARED_KEYS, SHARED_ARGS, BEFORE_MAX, hold, ordersBefore = 5, 3, 0, nil, nil
