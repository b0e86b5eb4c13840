-- Orders are held until they are paid. Not a script by itself: scripts.go puts it in front of order.lua,
-- behind event.lua. It defines SHARED_KEYS, SHARED_ARGS, BEFORE_MAX, EVENTS, hold, ordersBefore,
-- releasedUnder and numberOf.
--
-- KEYS[1]  the stock: hash; its fields "~" food id have the pieces of held orders
-- KEYS[6]  users whose orders are held, by when the hold ends: sorted set, Unix ms
-- KEYS[7]  orders that were released: hash user -> how many orders the user has had, "user-number" -> one of
--          them as held/shared.lua keeps it
-- KEYS[8]  the stream of events, see event.lua
-- ARGV[4]  how long an order is held: milliseconds > 0
--
-- The third line of an order is "state number events till payment":
--   state    "held", "paying" once a payment was opened, "paid"
--   number   of the user's orders before it: integer >= 0; a user has one order at a time
--   events   of this order so far: integer > 0
--   till     when the hold ends, or when the order was paid: Unix ms
--   payment  the last one that was opened for it, "-" for none
local SHARED_KEYS, SHARED_ARGS, BEFORE_MAX, EVENTS = 8, 4, 20, KEYS[8]
local ordersBefore, releasedUnder, hold

-- numberOf is the number of the order with this value.
local function numberOf(value) return tonumber(string.match(value, '\n%S+ (%d+)')) end

do
  local call, stock, holds, released = redis.call, KEYS[1], KEYS[6], KEYS[7]
  local holdFor = tonumber(ARGV[4])

  -- ordersBefore returns how many orders the owner of an order has had.
  function ordersBefore(order)
    return tonumber(call('HGET', released, string.match(order, '%d+')) or 0)
  end

  -- releasedUnder returns the number of the owner's order that was placed under an idempotency key and
  -- released; nil for none.
  function releasedUnder(order, key, before)
    local user = string.match(order, '%d+')
    for number = before - 1, 0, -1 do
      local value = call('HGET', released, user .. '-' .. number) -- none for an order that was paid late
      if value and string.match(value, '|([^\n]*)') == key then return number end
    end
  end

  -- hold returns the value of an order that is held, and notes when the hold ends.
  function hold(order, before, value)
    local user, items = string.match(order, '%d+'), string.match(value, '^[^|]*')
    local till = string.format('%d', string.match(value, '%d+$') + holdFor)
    call('ZADD', holds, till, user)
    for food, count in string.gmatch(items, '(%d+):(%d)') do call('HINCRBY', stock, '~' .. food, count) end
    tell(EVENTS, user, before, 1, 'held', 'items', items, 'till', till)
    return string.format('%s\nheld %d 1 %s -', value, before, till)
  end
end
