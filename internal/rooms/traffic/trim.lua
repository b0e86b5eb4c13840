-- Closes a slot of the most-hit keys and removes the keys with fewest hits beyond the limit, in a small
-- step.
--
-- KEYS[1]  state: hash as in keys.go
-- KEYS[2]  the slot: sorted set
-- ARGV[1]  number of the slot: integer
-- ARGV[2]  keys that stay: integer > 0
-- ARGV[3]  keys to remove at most: integer > 0
--
-- Returns the number of keys that are still to be removed.
local open = tonumber(redis.call('HGET', KEYS[1], 'top') or 0)
if tonumber(ARGV[1]) >= open then redis.call('HSET', KEYS[1], 'top', ARGV[1] + 1) end
local most = tonumber(ARGV[3])
local over = math.max(redis.call('ZCARD', KEYS[2]) - ARGV[2], 0)
if over > 0 then redis.call('ZREMRANGEBYRANK', KEYS[2], 0, math.min(over, most) - 1) end
return math.max(over - most, 0)
