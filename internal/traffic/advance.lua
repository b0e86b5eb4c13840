-- Moves the frontiers of tiers, never back. When one has moved, all keys are swept from the first one on.
-- While another server goes by other tiers or another time zone, nothing is moved: what is added up stays
-- so.
--
-- KEYS[1]  state: hash as in keys.go
-- KEYS[2]  ids of keys by name: hash
-- ARGV[1]  the tiers and the time zone: text
-- ARGV[2]  now: Unix seconds
-- ARGV     for each tier but the last one its step, and the first bucket that it keeps: integers
--
-- Returns {the last id that is swept, -1 when all are, -2 while others go by other tiers; number of keys}
local LAYOUT_LIFETIME = 180 -- seconds without a word of the others
local layout, seen = unpack(redis.call('HMGET', KEYS[1], 'layout', 'layout_seen'))
if layout and layout ~= ARGV[1] and tonumber(ARGV[2]) - tonumber(seen) < LAYOUT_LIFETIME then
  return { -2, 0 }
end
redis.call('HSET', KEYS[1], 'layout', ARGV[1], 'layout_seen', ARGV[2])
local moved = false
for i = 3, #ARGV, 2 do
  local frontier = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or 0)
  if tonumber(ARGV[i + 1]) > frontier then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    moved = true
  end
end
if moved then redis.call('HSET', KEYS[1], 'cursor', 0) end
return { tonumber(redis.call('HGET', KEYS[1], 'cursor') or -1), redis.call('HLEN', KEYS[2]) }
