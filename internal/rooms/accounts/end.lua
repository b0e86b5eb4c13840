-- Notes that the access tokens of a user end now, and forgets users whose tokens of then have expired.
--
-- KEYS[1]  users by when their tokens ended: sorted set, Unix milliseconds
-- ARGV[1]  user: integer
-- ARGV[2]  how long a token is valid: milliseconds > 0
-- ARGV[3]  users that there may be: integer > 0
--
-- Returns now: Unix milliseconds > 0; 0 if there are too many users, and then notes nothing
local ended, user, ttl, most = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', ended, '-inf', string.format('(%.0f', now - ttl))
if redis.call('ZCARD', ended) >= most and not redis.call('ZSCORE', ended, user) then return 0 end
redis.call('ZADD', ended, string.format('%.0f', now), user)
redis.call('PEXPIRE', ended, string.format('%.0f', ttl))
return now
