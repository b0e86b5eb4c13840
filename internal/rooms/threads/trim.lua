-- Trims the messages of a thread, and notes when it is to be trimmed again.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its messages, stream
-- KEYS[3]  threads to trim, sorted set
-- ARGV[1]  id of the thread
-- ARGV[2]  up to this message; 0 trims nothing
-- ARGV[3]  messages of a thread that Redis keeps
-- ARGV[4]  milliseconds that Redis keeps a message
-- ARGV[5]  created of the thread: a group that has ended may have been started again under its id
-- Returns 0: trimmed, 2: there is no such thread

local thread, messages, trim = unpack(KEYS)
local id, upto, most, age = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local last, first, created = unpack(redis.call("HMGET", thread, "last", "first", "created"))
if not last then
   redis.call("ZREM", trim, id)
   return 2
end
if created ~= ARGV[5] then return 2 end
last, first = tonumber(last), math.max(tonumber(first), upto + 1)
redis.call("XTRIM", messages, "MINID", first .. "-0")
local oldest = redis.call("XRANGE", messages, "-", "+", "COUNT", 1)[1]
if not oldest and first > last then
   redis.call("ZREM", trim, id)
elseif not oldest or last - first + 1 > most then -- without an entry: erased ones are left
   redis.call("ZADD", trim, 0, id)
else
   redis.call("ZADD", trim, whole(string.match(oldest[2][2], ":(%d+)$") + age), id)
end
redis.call("HSET", thread, "first", first)
return 0
