-- Deletes a key: its name is free at once, so that hits which come later begin it anew, under another id.
-- Its blocks stay until clear.lua removes them.
--
-- KEYS[1]  ids of keys by name: sorted set
-- KEYS[2]  ids of deleted keys with blocks left: set
-- KEYS[3]  index of the key: set of blocks as in block.go
-- ARGV[1]  id of the key: integer > 0
-- ARGV[2]  with fewer keys than this the key stays: integer >= 0
-- ARGV[3]  with another number of blocks the key stays, because it was hit: integer, -1 for any
--
-- Returns  0  deleted
--          1  there is no such key
--          2  it stays
local DELETED, UNKNOWN, STAYS = 0, 1, 2
local call, names, id, blocks = redis.call, KEYS[1], ARGV[1], tonumber(ARGV[3])
local name = call('ZRANGEBYSCORE', names, id, id)[1]
if not name then return UNKNOWN end
if call('ZCARD', names) < tonumber(ARGV[2]) then return STAYS end
if blocks >= 0 and call('SCARD', KEYS[3]) ~= blocks then return STAYS end
call('ZREM', names, name)
call('SADD', KEYS[2], id)
return DELETED
