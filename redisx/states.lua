-- The states of a sale. This is no script by itself: scripts.go and turnover/scripts.go put it in front of
-- others. It names SCHEDULED, OPEN, PAUSED, CLOSED, clock, stateOf, setGate and currentSale.
--
-- The state follows from these fields of the marker and the clock of Redis, and from nothing else:
--   opens_at   Unix ms, none: the sale is open from its beginning
--   closes_at  Unix ms, none: it never closes by itself
--   paused     1: it was paused by hand
--   closed     Unix ms: it was closed by hand
--   state      the last state that was noted, so that each change is logged once; while a sale is being
--              opened there is none. A close that was noted stays, also where the clock goes back or a
--              slower one takes over: only a change (state_change.lua) opens the sale again
--
-- The gate is there exactly while the sale is open, and holds closes_at as its text. Redis itself takes it
-- away at closes_at. At opens_at the first script that comes puts it there, and the same where it was lost.
local SCHEDULED, OPEN, PAUSED, CLOSED = 'scheduled', 'open', 'paused', 'closed'

-- clock returns the time of Redis: Unix ms.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- stateOf returns the state that the fields of a marker make at a moment.
local function stateOf(sale, now)
  if sale.closed then return CLOSED end
  if sale.closes_at and now >= tonumber(sale.closes_at) then return CLOSED end
  if sale.opens_at and now < tonumber(sale.opens_at) then return SCHEDULED end
  return sale.paused and PAUSED or OPEN
end

-- setGate puts the gate there or takes it away. Redis takes away what expires once the moment is over, and
-- looks at its clock when a script begins, so the gate goes in the last millisecond before closes_at: no
-- order of a script that found it gets a later time. currentSale decides what comes in that millisecond.
local function setGate(gate, sale)
  if sale.state ~= OPEN then
    redis.pcall('DEL', gate)
  elseif redis.call('GET', gate) ~= (sale.closes_at or '') then
    redis.pcall('SET', gate, sale.closes_at or '')
    if sale.closes_at then redis.pcall('PEXPIREAT', gate, string.format('%d', sale.closes_at - 2)) end
  end
end

-- currentSale makes what is due by the clock, and returns the sale: its fields, state and now. It returns
-- nothing where Redis does not hold the sale, or the next one is being opened in its place. A Redis that
-- takes no writes still tells the state.
local function currentSale(marker, gate, log, id)
  local found = redis.call('HMGET', marker, 'id', 'opens_at', 'closes_at', 'paused', 'closed', 'state',
    'next_id')
  if found[1] ~= id or found[7] then return end
  local sale = {opens_at = found[2], closes_at = found[3], paused = found[4]}
  sale.closed = found[5] or found[6] == CLOSED and found[3]
  sale.now = clock()
  sale.state = stateOf(sale, sale.now)
  -- Other times alone do not open it again, whether its close was noted before or is noted now.
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
