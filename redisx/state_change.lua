-- Opens or closes the sale if that is due by the clock. Then changes its state or its times, if wanted. With
-- states.lua in front.
--
-- KEYS[1]  the marker: hash id, revision (one more with each change of a sale with slices), and the fields
--          of states.lua
-- KEYS[2]  the gate: string
-- KEYS[3]  the log: stream
-- ARGV[1]  id of the sale that must be there: string
-- ARGV[2]  who wants a change: string, "" for none
-- ARGV[3]  the wanted state: "scheduled", "open", "paused" or "closed"; "": it stays as it is
-- ARGV[4]  when the sale is to open: Unix ms; "": as before, "0": never by itself
-- ARGV[5]  when it is to close: the same
--
-- Returns {code, state, now, opens_at, closes_at}: the state after the call, Unix ms by the clock of Redis,
-- 0 for none. code is
--         0  done
--         1  Redis does not hold the sale: nothing is changed
--         2  the state cannot become the wanted one, or the times would change it: nothing is changed
--         3  the sale would close before it opens: nothing is changed
--         4  ARGV[5] is over: nothing is changed
local marker, gate, log = KEYS[1], KEYS[2], KEYS[3]
local id, by, wanted, opens, closes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local DONE, NO_SALE, CONFLICT, WRONG_TIMES, OVER = 0, 1, 2, 3, 4
local call = redis.call

local function answer(code, sale)
  return {code, sale.state, sale.now, tonumber(sale.opens_at or 0), tonumber(sale.closes_at or 0)}
end

-- given returns the time that a call asks for, else the time before.
local function given(time, before)
  if time == '' then return before end
  return time ~= '0' and time
end

-- changed returns the sale after the wanted change.
local function changed(before)
  local sale = {now = before.now, paused = before.paused, closed = before.closed}
  local now = string.format('%d', sale.now)
  sale.opens_at, sale.closes_at = given(opens, before.opens_at), given(closes, before.closes_at)
  if wanted == OPEN or wanted == SCHEDULED then
    sale.paused, sale.closed = false, false
    local over = sale.closes_at and tonumber(sale.closes_at) <= sale.now
    if closes == '' and over then sale.closes_at = false end
  end
  local early = sale.opens_at and tonumber(sale.opens_at) > sale.now
  if wanted == OPEN and opens == '' and early then sale.opens_at = now end
  if wanted == PAUSED then sale.paused = '1' end
  if wanted == CLOSED and before.state ~= CLOSED then sale.closed = now end
  sale.state = stateOf(sale, sale.now)
  return sale
end

-- note logs the change. It runs before anything that opens a sale: a Redis without memory refuses the log
-- entry, and nothing happens.
local function note(before, after)
  if before.opens_at ~= after.opens_at or before.closes_at ~= after.closes_at then
    call('XADD', log, '*', 'by', by, 'what', 'times',
      'opens_before', before.opens_at or '', 'opens_after', after.opens_at or '',
      'closes_before', before.closes_at or '', 'closes_after', after.closes_at or '')
  end
  if before.state ~= after.state then
    call('XADD', log, '*', 'by', by, 'what', 'state', 'before', before.state, 'after', after.state)
  end
end

local before = currentSale(marker, gate, log, id)
if not before then return {NO_SALE, '', 0, 0, 0} end
if by == '' then return answer(DONE, before) end
if tonumber(closes) and closes ~= '0' and tonumber(closes) <= before.now then return answer(OVER, before) end
local after = changed(before)
if after.opens_at and after.closes_at and tonumber(after.opens_at) >= tonumber(after.closes_at) then
  return answer(WRONG_TIMES, before)
end
if after.state ~= (wanted == '' and before.state or wanted) then return answer(CONFLICT, before) end
-- Delete the gate first, make it last. To delete it frees memory, so that the rest of the script works in a
-- Redis without any.
if after.state ~= OPEN then setGate(gate, after) end
note(before, after)
if after.state ~= CLOSED then
  call('HDEL', marker, 'exporting', 'exported', 'exported_orders', 'exported_users')
end
for _, field in ipairs({'opens_at', 'closes_at', 'paused', 'closed'}) do
  if after[field] then call('HSET', marker, field, after[field]) else call('HDEL', marker, field) end
end
call('HSET', marker, 'state', after.state)
if call('HEXISTS', marker, 'slices') == 1 then call('HINCRBY', marker, 'revision', 1) end
if after.state == OPEN then setGate(gate, after) end
return answer(DONE, after)
