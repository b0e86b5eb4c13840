-- Makes a slice other than the home slice, while the home slice has the field filling: its marker and its
-- share of the stock. The slice is paused until it follows the home slice (slice_follow.lua). It keeps a
-- ledger if it did so in the sale before. With new_sale.lua in front.
--
-- KEYS[1]  the marker of the slice: hash id, previous, ledger, and the fields of states.lua
-- KEYS[2]  the stock of the slice: hash food id -> pieces, and a note
-- KEYS[3]  the stream of orders of the slice
-- ARGV[1]  id of the sale: string
-- ARGV[2]  name of the consumer group of KEYS[3]: string
-- ARGV[3+] pieces of food 1, 2, 3, ...: integers >= 0
--
-- Returns 0  made
--         1  it was made before: nothing is changed
local marker, stock, stream = unpack(KEYS)
local id, group = ARGV[1], ARGV[2]
local FIRST_FOOD, MADE, THERE = 3, 0, 1
local call = redis.call

local before, ledger, previous = unpack(call('HMGET', marker, 'id', 'ledger', 'previous'))
-- A caller that stood still meanwhile must not bring an ended sale back.
local ended = ' ' .. (previous or '') .. ' '
if before == id or string.find(ended, ' ' .. id .. ' ', 1, true) then return THERE end
putStock(stock, FIRST_FOOD)
call('DEL', marker)
call('HSET', marker, 'id', id, 'paused', 1, 'revision', 0)
if before then call('HSET', marker, 'previous', previous and before .. ' ' .. previous or before) end
if ledger then
  call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
  call('HSET', marker, 'ledger', 'on')
end
return MADE
