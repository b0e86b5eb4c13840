-- Last step of a transfer: the receiving slice puts the pieces into its stock. A repeated call changes
-- nothing.
--
-- KEYS[1]  the stock of the receiver, as in transfer_ask.lua; "=" giver -> the last transfers that were
--          taken, as in transfer_repair.lua
-- ARGV[1]  the giver: number of the slice
-- ARGV[2]  number of the transfer: integer > 0
-- ARGV[3]  what was given: string "food:pieces,food:pieces,"
--
-- Returns 1  taken
--         0  the transfer is not open: nothing is changed
local stock, field, number, given = KEYS[1], '<' .. ARGV[1], ARGV[2], ARGV[3]
local OVER, TAKEN = 0, 1
local HISTORY = 500 -- bytes of the transfers that are kept, beside the last one
local call = redis.call

if string.match(call('HGET', stock, field) or '', '^(%d+) ') ~= number then return OVER end
for food, pieces in string.gmatch(given, '(%d+):(%d+),') do call('HINCRBY', stock, food, pieces) end
local taken = number .. ' ' .. given
for older in string.gmatch(call('HGET', stock, '=' .. ARGV[1]) or '', '[^;]+') do
  if #taken + #older > HISTORY then break end
  taken = taken .. ';' .. older
end
call('HSET', stock, field, number, '=' .. ARGV[1], taken)
call('HINCRBY', stock, '<', -1)
call('HINCRBY', stock, '>', 1)
return TAKEN
