-- Notes since when foods are sold out, so that all servers tell the same time, and logs when the last food
-- of the sale is sold out. The snapshots call it once they have seen a food without pieces: an order does
-- nothing for it.
--
-- KEYS[1]  the marker: hash id
-- KEYS[2]  the stock of the home slice: hash food id -> pieces left, "!" food id -> sold out since, Unix ms;
--          sold_out -> how many foods have that
-- KEYS[3]  the log: stream
-- ARGV[1]  id of the sale that must be there: string
-- ARGV[2]  foods of the sale: integer > 0
-- ARGV[3+] food ids: integers > 0 for foods without pieces, below 0 for foods that have pieces in some slice
--
-- Returns for each food since when it is sold out, Unix ms; 0 if it has pieces. An empty list: Redis does
-- not hold the sale, and nothing is changed
local marker, stock, log = KEYS[1], KEYS[2], KEYS[3]
local id, foods = ARGV[1], tonumber(ARGV[2])
local FIRST_FOOD = 3
local call, try = redis.call, redis.pcall -- a Redis that takes no writes notes nothing

local found = call('HMGET', marker, 'id', 'next_id')
if found[1] ~= id or found[2] or call('EXISTS', stock) == 0 then return {} end
local time = call('TIME')
local now = time[1] .. string.sub(1000000 + time[2], 2, 4)

local since, more = {}, 0
for i = FIRST_FOOD, #ARGV do
  local food, gone = string.match(ARGV[i], '%d+'), string.sub(ARGV[i], 1, 1) ~= '-'
  if gone and call('HGET', stock, food) == '0' then -- a restock may have come first
    more = more + (tonumber(try('HSETNX', stock, '!' .. food, now)) or 0)
  elseif not gone then
    more = more - (tonumber(try('HDEL', stock, '!' .. food)) or 0)
  end
  since[#since + 1] = tonumber(call('HGET', stock, '!' .. food) or 0)
end
if more ~= 0 then
  local all = call('HINCRBY', stock, 'sold_out', more) == foods
  if all and more > 0 then call('XADD', log, '*', 'by', 'clock', 'what', 'sold_out') end
end
return since
