-- Reads messages of a thread for somebody.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its members, hash
-- KEYS[3]  its messages, stream
-- ARGV[1]  id of the user; 0 for somebody without a login, "" for one of our programs
-- ARGV[2]  ids below this one; 0 for no bound
-- ARGV[3]  ids above this one; -1 for no bound, and then the newest ones
-- ARGV[4]  messages, most; 0 reads none
-- ARGV[5]  1: an archive has the messages that Redis has no more; 0: they are gone
-- Returns {code, ...}, all as texts
--   0: last, first (oldest message in Redis), created (Unix milliseconds), kept (oldest message that is not
--      gone), then the range of ids from and to that the user gets (from above to for none), and for each
--      message of it in Redis id, head, content
--   2: there is no such thread
--   3: the user is no member

local thread, members, messages = unpack(KEYS)
local user, before, after, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local kind, last, first, created, history, kept = unpack(
   redis.call("HMGET", thread, "kind", "last", "first", "created", "history", "kept"))
if not kind then return { "2" } end
kept = kept or "1" -- without it the archive has all that Redis has not
if ARGV[5] == "0" then kept = first end
local floor = tonumber(kept) - 1
if kind ~= "room" and user ~= "" then
   local member = redis.call("HGET", members, user)
   if not member then return { "3" } end
   if history ~= "1" then floor = math.max(floor, tonumber(open(member).joined)) end
end

local from, to = floor + 1, tonumber(last)
if before > 0 then to = math.min(to, before - 1) end
if after >= 0 then
   from = math.max(from, after + 1)
   to = math.min(to, from + limit - 1)
else
   from = math.max(from, to - limit + 1)
end
local reply = { "0", last, first, created, kept, whole(from), whole(to) }
if from <= to then
   for _, entry in ipairs(redis.call("XRANGE", messages, from .. "-0", to .. "-0")) do
      reply[#reply + 1] = string.match(entry[1], "^%d+")
      reply[#reply + 1] = entry[2][2]
      reply[#reply + 1] = entry[2][4]
   end
end
return reply
