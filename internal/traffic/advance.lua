-- Moves the frontiers of tiers, never back. When one has moved, all keys are swept from the first one on.
--
-- KEYS[1]  state: hash as in keys.go
-- KEYS[2]  ids of keys by name: hash
-- ARGV     for each tier but the last one its step, and the first bucket that it keeps: integers
--
-- Returns {the last id that is swept, -1 when all are; number of keys}
local moved = false
for i = 1, #ARGV, 2 do
  local frontier = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or 0)
  if tonumber(ARGV[i + 1]) > frontier then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    moved = true
  end
end
if moved then redis.call('HSET', KEYS[1], 'cursor', 0) end
return { tonumber(redis.call('HGET', KEYS[1], 'cursor') or -1), redis.call('HLEN', KEYS[2]) }
