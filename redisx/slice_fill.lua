-- Makes a slice other than the home slice, while the home slice has the field filling: its marker and its
-- share of the stock. The slice is paused until it follows the home slice (slice_follow.lua). With
-- new_sale.lua in front.
--
-- KEYS[1]  the marker of the slice: hash, as in states.lua
-- KEYS[2]  the stock of the slice: hash food id -> pieces, and a note
-- ARGV[1]  id of the sale: string
-- ARGV[2+] pieces of food 1, 2, 3, ...: integers >= 0
--
-- Returns 0  made
--         1  it was made before: nothing is changed
local marker, stock, id = KEYS[1], KEYS[2], ARGV[1]
local FIRST_FOOD, MADE, THERE = 2, 0, 1

if redis.call('HGET', marker, 'id') == id then return THERE end
putStock(stock, FIRST_FOOD)
redis.call('DEL', marker)
redis.call('HSET', marker, 'id', id, 'paused', 1, 'revision', 0)
return MADE
