-- Repeats transfers to another slice that the giver has lost: after a fail-over, or with an older copy of
-- its data. Without that the pieces would be in both slices. The stock may go below 0: these pieces are sold
-- here and there, and no further one is.
--
-- KEYS[1]  the stock of the giver, as in transfer_give.lua
-- ARGV[1]  the receiver: number of the slice
-- ARGV[2]  what the receiver has taken, the last transfer first: string "number food:pieces,food:pieces,",
--          as many as it has kept, with ";" between them
--
-- Returns 2  repeated, but the receiver does not know some lost transfers any more
--         1  repeated
--         0  the giver knows the last transfer, or has no stock: nothing is changed
local stock, field, taken = KEYS[1], '>' .. ARGV[1], ARGV[2]
local KNOWN, REPEATED, SOME_REPEATED = 0, 1, 2
local call = redis.call

local last = tonumber(string.match(call('HGET', stock, field) or '0 ', '^(%d+) '))
local newest = string.match(taken, '^[^;]*')
local lost = tonumber(string.match(newest, '^%d+')) - last
if call('EXISTS', stock) == 0 or lost <= 0 then return KNOWN end
for number, given in string.gmatch(taken, '(%d+) ([^;]*)') do
  if tonumber(number) > last then
    for food, n in string.gmatch(given, '(%d+):(%d+),') do call('HINCRBY', stock, food, '-' .. n) end
    lost = lost - 1
  end
end
call('HSET', stock, field, newest)
return lost == 0 and REPEATED or SOME_REPEATED
