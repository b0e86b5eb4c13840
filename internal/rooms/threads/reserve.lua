-- Notes that a user starts a thread, before it is started.
--
-- KEYS[1]  threads that the user has started, sorted set
-- ARGV[1]  id of the thread
-- ARGV[2]  threads that a user may have started, most
-- ARGV[3]  threads that a user may start in an hour
-- ARGV[4]  now, in Unix milliseconds; "" for the clock of Redis
-- Returns 0: noted, now or before; 1: too many; 2: too many in an hour

local made, id, most, hourly = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call("ZSCORE", made, id) then return 0 end
local now = microseconds(ARGV[4])
if redis.call("ZCARD", made) >= most then return 1 end
if redis.call("ZCOUNT", made, whole(now - 3600 * 1000000), "+inf") >= hourly then return 2 end
redis.call("ZADD", made, whole(now), id)
return 0
