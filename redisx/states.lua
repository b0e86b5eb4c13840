-- The states of a sale. Not a script by itself: scripts.go and turnover/scripts.go put it in front of
-- others. It defines SCHEDULED, OPEN, PAUSED, CLOSED, clock, stateOf, setGate and currentSale.
--
-- The state follows only from the clock of Redis and these fields of the marker:
--   opens_at   Unix ms; none: the sale is open from its beginning
--   closes_at  Unix ms; none: the sale never closes by itself
--   paused     1: it was paused by hand
--   closed     Unix ms: it was closed by hand
--   state      the last noted state, so that each change is logged once; none while a sale is being
--              opened. A noted close stays even if the clock goes back: only state_change.lua opens the
--              sale again
--
-- The gate exists exactly while the sale is open, and holds closes_at as its text. Redis deletes it at
-- closes_at. The first script after opens_at makes it, and makes a lost gate again.
local SCHEDULED, OPEN, PAUSED, CLOSED = 'scheduled', 'open', 'paused', 'closed'

-- clock returns the time of Redis in Unix ms.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- stateOf returns the state at a moment, from the fields of a marker.
local function stateOf(sale, now)
  if sale.closed then return CLOSED end
  if sale.closes_at and now >= tonumber(sale.closes_at) then return CLOSED end
  if sale.opens_at and now < tonumber(sale.opens_at) then return SCHEDULED end
  return sale.paused and PAUSED or OPEN
end

-- setGate makes or deletes the gate. Redis deletes an expired key once its time is over, and reads its clock
-- when a script begins, so the gate goes in the last millisecond before closes_at: no script that found it
-- places an order later. In that millisecond currentSale decides.
local function setGate(gate, sale)
  if sale.state ~= OPEN then
    redis.pcall('DEL', gate)
  elseif redis.call('GET', gate) ~= (sale.closes_at or '') then
    redis.pcall('SET', gate, sale.closes_at or '')
    if sale.closes_at then redis.pcall('PEXPIREAT', gate, string.format('%d', sale.closes_at - 2)) end
  end
end

-- currentSale makes the changes that are due by the clock, and returns the sale: its fields, state and now.
-- It returns nothing if Redis does not hold the sale, or if the next one is being opened. A Redis that takes
-- no writes still returns the state.
local function currentSale(marker, gate, log, id)
  local found = redis.call('HMGET', marker, 'id', 'opens_at', 'closes_at', 'paused', 'closed', 'state',
    'next_id')
  if found[1] ~= id or found[7] then return end
  local sale = {opens_at = found[2], closes_at = found[3], paused = found[4]}
  sale.closed = found[5] or found[6] == CLOSED and found[3]
  sale.now = clock()
  sale.state = stateOf(sale, sale.now)
  -- Other times alone do not open a closed sale again, whether its close is noted already or only now.
  if sale.state == CLOSED then sale.closed = sale.closed or sale.closes_at end
  setGate(gate, sale)
  if found[6] ~= sale.state then
    if found[6] then
      redis.pcall('XADD', log, '*', 'by', 'clock', 'what', 'state', 'before', found[6], 'after', sale.state)
    end
    redis.pcall('HSET', marker, 'state', sale.state)
  end
  return sale
end
