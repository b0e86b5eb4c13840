-- One server at a time does a work: take the lease, or keep it.
-- KEYS[1]  string, the server that has it
-- ARGV[1]  id of this server
-- ARGV[2]  milliseconds until it ends
-- Returns 1 if this server has the lease, else 0.
local lease, server, life = KEYS[1], ARGV[1], ARGV[2]
local holder = redis.call('GET', lease)
if holder and holder ~= server then
  return 0
end
redis.call('SET', lease, server, 'PX', life)
return 1
