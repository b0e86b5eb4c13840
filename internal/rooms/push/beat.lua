-- A sign of life of a push server; returns the servers that live.
-- KEYS[1]  sorted set of the servers
-- ARGV[1]  id of the server, "" only to ask
-- ARGV[2]  milliseconds after which a server counts as dead
-- Returns the ids.
local servers, server, limit = KEYS[1], ARGV[1], tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if server ~= '' then
  redis.call('ZADD', servers, now, server)
  redis.call('ZREMRANGEBYSCORE', servers, '-inf', now - 60000)
end
return redis.call('ZRANGEBYSCORE', servers, now - limit, '+inf')
