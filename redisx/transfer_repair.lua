-- Repeats the last transfer to another slice, if the giver has come back without it: after a fail-over, or
-- with an older copy of its data. Without that the pieces would be in both slices. The stock may go below 0:
-- these pieces are sold here and there, and no further one is.
--
-- KEYS[1]  the stock of the giver, as in transfer_give.lua
-- ARGV[1]  the receiver: number of the slice
-- ARGV[2]  number of the last transfer that the receiver has taken: integer > 0
-- ARGV[3]  what it has taken: string "food:pieces,food:pieces,"
--
-- Returns 1  repeated
--         0  the giver knows that transfer, or has no stock: nothing is changed
local stock, field, number, given = KEYS[1], '>' .. ARGV[1], tonumber(ARGV[2]), ARGV[3]
local KNOWN, REPEATED = 0, 1
local call = redis.call

local last = string.match(call('HGET', stock, field) or '0 ', '^(%d+) ')
if call('EXISTS', stock) == 0 or tonumber(last) >= number then return KNOWN end
for food, pieces in string.gmatch(given, '(%d+):(%d+),') do call('HINCRBY', stock, food, '-' .. pieces) end
call('HSET', stock, field, string.format('%d %s', number, given))
return REPEATED
