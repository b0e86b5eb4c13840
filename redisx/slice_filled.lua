-- Notes that all slices have their stock: from here on none is made again, and all follow the home slice.
--
-- KEYS[1]  the marker of the home slice: hash id, filling, revision
-- ARGV[1]  id of the sale that must be there: string
--
-- Returns 1  noted, now or before
--         0  there is no such sale: nothing is changed
local marker, id = KEYS[1], ARGV[1]
local NO_SALE, NOTED = 0, 1

if redis.call('HGET', marker, 'id') ~= id then return NO_SALE end
if redis.call('HDEL', marker, 'filling') == 1 then redis.call('HINCRBY', marker, 'revision', 1) end
return NOTED
