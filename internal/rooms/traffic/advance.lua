-- Moves the frontiers of tiers forward. When a frontier has moved, a sweep of all keys begins; also once an
-- hour while there are as many keys as there may be. While another server has other tiers or another time
-- zone no frontier moves: a sum cannot be split again.
--
-- KEYS[1]  state: hash as in keys.go
-- KEYS[2]  ids of keys by name: sorted set
-- ARGV[1]  the tiers and the time zone: text
-- ARGV[2]  now: Unix seconds
-- ARGV[3]  most keys there may be: integer > 0
-- ARGV     for each tier but the last its step, and the first bucket that it keeps: integers
--
-- Returns {the last id that is swept, -1 when all are, -2 while others go by other tiers; number of keys}
local LAYOUT_LIFETIME = 180 -- seconds; then a silent layout is forgotten
local FULL_INTERVAL = 3600 -- seconds
local layout, seen = unpack(redis.call('HMGET', KEYS[1], 'layout', 'layout_seen'))
if layout and layout ~= ARGV[1] and tonumber(ARGV[2]) - tonumber(seen) < LAYOUT_LIFETIME then
  return { -2, 0 }
end
redis.call('HSET', KEYS[1], 'layout', ARGV[1], 'layout_seen', ARGV[2])
local moved = false
for i = 4, #ARGV, 2 do
  local frontier = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or 0)
  if tonumber(ARGV[i + 1]) > frontier then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    moved = true
  end
end
local keys = redis.call('ZCARD', KEYS[2])
local cursor, swept = unpack(redis.call('HMGET', KEYS[1], 'cursor', 'swept'))
local rests = tonumber(cursor or -1) < 0 and ARGV[2] - tonumber(swept or 0) >= FULL_INTERVAL
if moved or rests and keys >= tonumber(ARGV[3]) then
  cursor = 0
  redis.call('HSET', KEYS[1], 'cursor', cursor, 'swept', ARGV[2])
end
return { tonumber(cursor or -1), keys }
