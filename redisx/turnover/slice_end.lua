-- Ends a slice of the sale after the home slice has begun the turnover (begin.lua): takes its stock away and
-- notes the next sale. It can be called again.
--
-- KEYS[1]  the marker of the slice: hash id, next_id
-- KEYS[2]  the stock of the slice: hash
-- KEYS[3]  the kept stock of the slice: hash
-- KEYS[4]  the gate of the slice: string
-- KEYS[5]  the stream of orders of the slice
-- ARGV[1]  id of the sale that ends: string
-- ARGV[2]  id of the next sale: string
-- ARGV[3]  "true" when the orders of the sale are deleted, "false" when they are kept
--
-- Returns 1  ended, now or before
--         0  the slice has another sale, or none: nothing is changed
local marker, stock, kept, gate, stream = unpack(KEYS)
local id, next_id, delete = unpack(ARGV)
local OTHER, ENDED = 0, 1
local STREAM_LIFETIME = 86400 -- seconds, as in begin.lua
local call = redis.call

if call('HGET', marker, 'id') ~= id then return OTHER end
call('DEL', gate)
call('HSET', marker, 'next_id', next_id)
if delete == 'true' then
  call('UNLINK', stock)
elseif call('EXISTS', stock) == 1 then
  call('RENAME', stock, kept)
end
call('EXPIRE', stream, STREAM_LIFETIME)
return ENDED
