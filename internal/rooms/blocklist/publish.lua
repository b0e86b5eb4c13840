-- Makes a snapshot the newest one, unless Redis has a later one. Its pieces must be in Redis already. The
-- pieces of the old snapshot expire: servers that are reading them can finish.
-- KEYS[1]   hash of the newest snapshot
-- KEYS[2..] the pieces of this snapshot, in order
-- ARGV[1]   generation of this snapshot
-- ARGV[2]   when it was imported, Unix milliseconds
-- ARGV[3]   its bytes
-- ARGV[4]   what the keys of all pieces begin with; they have the hash tag of KEYS[1]
-- ARGV[5]   seconds for which the pieces of the old snapshot stay
-- Returns 1 published, 0 Redis has a later snapshot or this one, -1 a piece is missing.
local newest = KEYS[1]
local generation, imported, bytes = ARGV[1], ARGV[2], ARGV[3]
local prefix, stay = ARGV[4], ARGV[5]

local before = redis.call('HMGET', newest, 'imported', 'generation', 'pieces')
if before[1] and tonumber(before[1]) >= tonumber(imported) then
  return 0
end
local pieces = #KEYS - 1
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then
    return -1
  end
end
if before[1] then
  for i = 0, tonumber(before[3]) - 1 do
    redis.call('EXPIRE', prefix .. before[2] .. '_' .. i, stay)
  end
end
for i = 2, #KEYS do
  redis.call('PERSIST', KEYS[i])
end
redis.call('HSET', newest, 'generation', generation, 'imported', imported, 'pieces', pieces, 'bytes', bytes)
return 1
