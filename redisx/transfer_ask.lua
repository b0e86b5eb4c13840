-- First step of a transfer: the receiving slice asks another slice for pieces. One transfer between two
-- slices is open at a time.
--
-- KEYS[1]    the stock of the receiver: hash food id -> pieces left, "<" giver -> "number" of the last
--            transfer, "number food:pieces,food:pieces," of an open one; "<" -> how many are open; ">" ->
--            how many steps of transfers this slice has seen
-- ARGV[1]    the giver: number of the slice
-- ARGV[2]    ask only if not more transfers into this slice than that are open: integer >= 0
-- ARGV[3i]   food i: id
-- ARGV[3i+1] pieces of it to ask for: integer > 0
-- ARGV[3i+2] ask only if fewer pieces are left than this: integer
--
-- Returns the open transfer, new or from another caller, as in the stock; "" if nothing is asked for
local stock, field = KEYS[1], '<' .. ARGV[1]
local call = redis.call

local last = call('HGET', stock, field) or '0'
if string.find(last, ' ') then return last end
if tonumber(call('HGET', stock, '<') or 0) > tonumber(ARGV[2]) then return '' end
local asked = {}
for i = 3, #ARGV, 3 do
  local left = tonumber(call('HGET', stock, ARGV[i]))
  if left and left < tonumber(ARGV[i + 2]) then asked[#asked + 1] = ARGV[i] .. ':' .. ARGV[i + 1] .. ',' end
end
if #asked == 0 then return '' end
local open = string.format('%d %s', last + 1, table.concat(asked))
call('HSET', stock, field, open)
call('HINCRBY', stock, '<', 1)
call('HINCRBY', stock, '>', 1)
return open
