-- Cuts off the beginning of a stream of events: what is old and delivered, and what is over the cap whether
-- it is delivered or not.
--
-- KEYS[1]  the stream
-- KEYS[2]  what was cut off: hash id (of the last entry), count
-- KEYS[3+] the places of the receivers: hash from (the first entry that is not delivered, or behind all)
-- ARGV[1]  entries younger than this stay: milliseconds
-- ARGV[2]  entries that the stream may have at most: integer > 0
-- ARGV[3]  entries that one call looks at: integer > 0
--
-- Returns {cut, more}: entries that were cut off; 1 if there may be more
local stream, gone = KEYS[1], KEYS[2]
local keep, cap, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local call = redis.call

-- less compares two ids of entries. Their times have 13 digits, exact in Lua's numbers.
local function less(a, b)
  local a1, a2 = string.match(a, '(%d+)-(%d+)')
  local b1, b2 = string.match(b, '(%d+)-(%d+)')
  return tonumber(a1) < tonumber(b1) or a1 == b1 and tonumber(a2) < tonumber(b2)
end

local time = call('TIME')
local stay = string.format('%d-0', time[1] * 1000 + math.floor(time[2] / 1000) - keep)
for i = 3, #KEYS do
  local from = call('HGET', KEYS[i], 'from') or '0-0'
  if less(from, stay) then stay = from end
end
local over = call('XLEN', stream) - cap
local page = call('XRANGE', stream, '-', '+', 'COUNT', most)
local last, count = nil, 0
for i, entry in ipairs(page) do
  if i > over and not less(entry[1], stay) then break end
  last, count = entry[1], i
end
if count == 0 then return {0, 0} end
local ms, number = string.match(last, '(%d+)-(%d+)')
call('XTRIM', stream, 'MINID', '=', string.format('%s-%d', ms, number + 1))
call('HSET', gone, 'id', last)
call('HINCRBY', gone, 'count', count)
return {count, count == #page and 1 or 0}
