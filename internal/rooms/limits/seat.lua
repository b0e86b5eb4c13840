-- Gives a network one of the seats of a name: only from networks with a seat are guesses counted by
-- themselves. So a name has a bounded number of keys. A seat is kept while guesses come from there.
--
-- KEYS[1]  sorted set: networks by the time of their last guess
-- ARGV[1]  now, in Unix milliseconds; "" for the time of Redis
-- ARGV[2]  network
-- ARGV[3]  number of seats
-- ARGV[4]  milliseconds that a seat is kept, at least as long as what is counted of the network
-- Returns 1 where the network has a seat, 0 where all are taken.

local seats, now, network = KEYS[1], milliseconds(ARGV[1]), ARGV[2]
local most, kept = tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call("ZREMRANGEBYSCORE", seats, "-inf", now - kept)
if not redis.call("ZSCORE", seats, network) and redis.call("ZCARD", seats) >= most then return 0 end
redis.call("ZADD", seats, now, network)
redis.call("PEXPIRE", seats, kept)
return 1
