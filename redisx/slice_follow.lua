-- Gives a slice the times of the home slice and what was done to it by hand. With states.lua in front.
--
-- KEYS[1]  the marker of the slice: hash id, revision, and the fields of states.lua
-- KEYS[2]  the gate of the slice: string
-- KEYS[3]  the log of the slice: stream
-- ARGV[1]  id of the sale that must be there: string
-- ARGV[2]  revision of the home slice: integer > 0
-- ARGV[3]  opens_at, ARGV[4] closes_at, ARGV[5] paused, ARGV[6] closed of the home slice, as in states.lua;
--          "" for none
--
-- Returns 0  there is no such slice: nothing is changed
--         1  it has this revision or a later one
local marker, gate, log, id, revision = KEYS[1], KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[2])
local NO_SLICE, FOLLOWED = 0, 1
local FIELDS = {'opens_at', 'closes_at', 'paused', 'closed'}
local call = redis.call

local found = call('HMGET', marker, 'id', 'revision', 'next_id')
if found[1] ~= id or found[3] then return NO_SLICE end
if tonumber(found[2] or 0) >= revision then return FOLLOWED end
local sale = {now = clock()}
for i, field in ipairs(FIELDS) do sale[field] = ARGV[2 + i] ~= '' and ARGV[2 + i] end
sale.state = stateOf(sale, sale.now)
-- As in state_change.lua: delete the gate first, make it last.
if sale.state ~= OPEN then setGate(gate, sale) end
for _, field in ipairs(FIELDS) do
  if sale[field] then call('HSET', marker, field, sale[field]) else call('HDEL', marker, field) end
end
call('HSET', marker, 'state', sale.state, 'revision', revision)
if sale.state == OPEN then setGate(gate, sale) end
return FOLLOWED
