-- Last step of a transfer: the receiving slice puts the pieces into its stock. A repeated call changes
-- nothing.
--
-- KEYS[1]  the stock of the receiver, as in transfer_ask.lua
-- ARGV[1]  the giver: number of the slice
-- ARGV[2]  number of the transfer: integer > 0
-- ARGV[3]  what was given: string "food:pieces,food:pieces,"
--
-- Returns 1  taken
--         0  the transfer is not open: nothing is changed
local stock, field, number, given = KEYS[1], '<' .. ARGV[1], ARGV[2], ARGV[3]
local OVER, TAKEN = 0, 1
local call = redis.call

if string.match(call('HGET', stock, field) or '', '^(%d+) ') ~= number then return OVER end
for food, pieces in string.gmatch(given, '(%d+):(%d+),') do call('HINCRBY', stock, food, pieces) end
call('HSET', stock, field, number, '=' .. ARGV[1], number .. ' ' .. given)
call('HINCRBY', stock, '<', -1)
call('HINCRBY', stock, '>', 1)
return TAKEN
