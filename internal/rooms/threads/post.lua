-- Stores a message. It takes the same commands for a thread of any number of members.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its members, hash
-- KEYS[3]  its messages, stream
-- KEYS[4]  the client ids of the user in this thread, sorted set
-- KEYS[5]  users who may not write, hash; of rooms
-- KEYS[6]  the user has just written, string; of rooms
-- KEYS[7]  log of the part, stream
-- KEYS[8]  state of the part, hash
-- KEYS[9]  threads to trim, sorted set
-- ARGV[1]  id of the thread
-- ARGV[2]  id of the user
-- ARGV[3]  client's id of the message, "" for none
-- ARGV[4]  content
-- ARGV[5]  messages of a thread that Redis keeps
-- ARGV[6]  milliseconds that Redis keeps a message
-- ARGV[7]  milliseconds between two messages of a user in a room, 0 for no slow mode
-- ARGV[8]  1: an archive gets messages before Redis forgets them; 0: there is none
-- ARGV[9]  now, in Unix milliseconds; "" for the clock of Redis
-- Returns {code, ...}
--   0: stored; the id of the message, Unix milliseconds
--   1: stored before under this client id; the id, Unix milliseconds, the content; 0 and "" if Redis has it
--      no more
--   2: there is no such thread
--   3: the user is no member
--   4: the user is muted; 0, until, Unix milliseconds
--   5: the room is slow; 0, milliseconds until the user may write
--   6: busy, see log.lua; or the archive is so far behind that the thread has archiveMax times its messages

local sentMax, sentSeconds, archiveMax = 100, 24 * 3600, 10

local thread, members, messages, sent, muted, pace, log, state, trim = unpack(KEYS)
local id, user, client, content, most, age, slow = unpack(ARGV)
local kind, last, first, updated, large, created = unpack(
   redis.call("HMGET", thread, "kind", "last", "first", "updated", "large", "created"))
if not kind then return { 2 } end
local member = kind ~= "room" and redis.call("HGET", members, user)
if kind ~= "room" and not member then return { 3 } end

-- A group that has ended may be started again under its id: the client ids of then are not those of now.
if client ~= "" then client = created .. ":" .. client end
local before = client ~= "" and redis.call("ZSCORE", sent, client)
if before then
   before = whole(before)
   local found = redis.call("XRANGE", messages, before .. "-0", before .. "-0")
   if not found[1] then return { 1, tonumber(before), 0, "" } end
   return { 1, tonumber(before), tonumber(string.match(found[1][2][2], ":(%d+)$")), found[1][2][4] }
end

local n = tonumber(last) + 1
first, most = tonumber(first), tonumber(most)
local archived = ARGV[8] == "1"
if isBusy(state) or archived and n - first >= archiveMax * most then return { 6 } end
local now = math.max(milliseconds(ARGV[9]), tonumber(updated)) -- times of a thread never go back
if kind == "room" then
   local till = redis.call("HGET", muted, user)
   if till and tonumber(till) > now then return { 4, 0, tonumber(till) } end
   if slow ~= "0" and not redis.call("SET", pace, "", "NX", "PX", slow) then
      return { 5, 0, math.max(redis.call("PTTL", pace), 1) }
   end
end

redis.call("XADD", messages, n .. "-0", "h", user .. ":" .. whole(now), "c", content)
redis.call("HSET", thread, "last", n, "updated", whole(now))
if member then -- a user has read what she writes
   local m = open(member)
   m.read = n
   redis.call("HSET", members, user, close(m))
end
if client ~= "" then
   redis.call("ZADD", sent, n, client)
   redis.call("ZREMRANGEBYRANK", sent, 0, -1 - sentMax)
   redis.call("EXPIRE", sent, sentSeconds)
end

-- The keeper trims. Where there is none, the messages grow to twice their number.
local over = n - first + 1 - most
if n == first then
   redis.call("ZADD", trim, whole(now + age), id)
elseif over > 0 and over % math.ceil(most / 10) == 0 then
   redis.call("ZADD", trim, 0, id)
end
if over > most and not archived then
   redis.call("XTRIM", messages, "MINID", (first + over - most) .. "-0")
   redis.call("HSET", thread, "first", first + over - most, "kept", first + over - most)
end
tell(log, state, now, id, "message", large, n, user, 0, content)
return { 0, n, now }
