-- Takes or keeps the lease of a part for a keeper, notes how far it has followed the log, and trims the log.
--
-- KEYS[1]  lease, string
-- KEYS[2]  state of the part, hash
-- KEYS[3]  log of the part, stream
-- KEYS[4]  threads to trim, sorted set
-- ARGV[1]  name of the keeper
-- ARGV[2]  length of the lease in milliseconds
-- ARGV[3]  position up to which the log was followed; "" for none
-- ARGV[4]  milliseconds that followed entries stay for those who tail the log
-- ARGV[5]  now, in Unix milliseconds; "" for the clock of Redis
-- ARGV[6]  threads to trim, most
-- Returns texts: 1 if the keeper has the lease, 0 if another one has it; the position up to which the log
-- was followed; now, in Unix milliseconds; then the threads that are to be trimmed.
-- What was followed is noted whoever has the lease: it is a fact.

local lease, state, log, trim = unpack(KEYS)
local name, length, upto, stays = unpack(ARGV)
local newest, done, cut, marked = unpack(redis.call("HMGET", state, "log", "done", "cut", "marked"))
if newest and upto ~= "" and tonumber(upto) > tonumber(done) then
   done = upto
   redis.call("HSET", state, "done", done)
end
local held = "0"
local holder = redis.call("GET", lease)
if not holder or holder == name then
   redis.call("SET", lease, name, "PX", length)
   held = "1"
end
-- Entries up to cut were followed when the time was marked.
local now = milliseconds(ARGV[5])
if newest and now - tonumber(marked) >= tonumber(stays) then
   redis.call("XTRIM", log, "MINID", whole(tonumber(cut) + 1) .. "-0")
   redis.call("HSET", state, "cut", done, "marked", whole(now))
end
return { held, done or "0", whole(now),
   unpack(redis.call("ZRANGEBYSCORE", trim, "-inf", whole(now), "LIMIT", 0, ARGV[6])) }
