-- Trims the messages of a thread, and notes when it is to be trimmed again. With an archive, that has them.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its messages, stream
-- KEYS[3]  threads to trim, sorted set
-- ARGV[1]  id of the thread
-- ARGV[2]  up to this message; 0 trims nothing
-- ARGV[3]  messages of a thread that Redis keeps
-- ARGV[4]  milliseconds that Redis keeps a message
-- ARGV[5]  created of the thread: a group that has ended may have been started again under its id
-- ARGV[6]  how many messages of it were erased before they were read for the archive; "" without an archive
-- Returns 0: trimmed, or some were erased meanwhile: read them again; 2: there is no such thread

local thread, messages, trim = unpack(KEYS)
local id, upto, most, age = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local last, first, created, erased = unpack(
   redis.call("HMGET", thread, "last", "first", "created", "erased"))
if not last then redis.call("ZREM", trim, id) end
if created ~= ARGV[5] then -- it has ended: the archive must not keep what it has just got
   if ARGV[5] ~= "" then redis.call("ZADD", trim, 0, id .. " " .. ARGV[5]) end
   return 2
end
if ARGV[6] ~= "" and ARGV[6] ~= (erased or "0") then return 0 end
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
if ARGV[6] == "" then redis.call("HSET", thread, "kept", first) end
return 0
