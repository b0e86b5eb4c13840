-- Takes the content of a message away. Its position stays: a message without an entry is an erased one. Of
-- a message that Redis has no more the caller takes the content away in the archive, also when repeated.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its messages, stream
-- KEYS[3]  log of the part, stream
-- KEYS[4]  state of the part, hash
-- ARGV[1]  id of the thread
-- ARGV[2]  id of the message
-- ARGV[3]  now, in Unix milliseconds; "" for the clock of Redis
-- ARGV[4]  1: an archive has the messages that Redis has no more; 0: they are gone
-- Returns 0: erased, now or before      1: the archive has the message
--         2: there is no such thread    6: busy, see log.lua    9: there is no such message

local thread, messages, log, state = unpack(KEYS)
local id, message = ARGV[1], tonumber(ARGV[2])
local last, first, large, pinned, kept = unpack(
   redis.call("HMGET", thread, "last", "first", "large", "pinned", "kept"))
if not last then return 2 end
local archived = ARGV[4] == "1" and message < tonumber(first)
if archived then first = kept or 1 end
if message < math.max(tonumber(first), 1) or message > tonumber(last) then return 9 end
if isBusy(state) then return 6 end
if not archived then
   if redis.call("XDEL", messages, message .. "-0") == 0 then return 0 end
   redis.call("HINCRBY", thread, "erased", 1) -- for trim.lua
end
local now = milliseconds(ARGV[3])
if pinned and tonumber(pinned) == message then
   redis.call("HDEL", thread, "pinned", "pinned_head", "pinned_content")
   tell(log, state, now, id, "pinned", large, 0, 0, 0, "")
end
tell(log, state, now, id, "erased", large, message, 0, 0, "")
if archived then return 1 end
return 0
