-- Removes an incomplete snapshot. A server with a complete snapshot then publishes it.
-- KEYS[1] hash of the newest snapshot
-- ARGV[1] generation of the snapshot
-- ARGV[2] what the keys of all pieces begin with; they have the hash tag of KEYS[1]
-- ARGV[3] seconds for which its pieces stay
-- Returns 1 withdrawn, 0 Redis has another snapshot, or no snapshot.
local newest = KEYS[1]
local generation, prefix, stay = ARGV[1], ARGV[2], ARGV[3]

local there = redis.call('HMGET', newest, 'generation', 'pieces')
if there[1] ~= generation then
  return 0
end
for i = 0, tonumber(there[2]) - 1 do
  redis.call('EXPIRE', prefix .. generation .. '_' .. i, stay)
end
redis.call('DEL', newest)
return 1
