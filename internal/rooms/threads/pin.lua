-- Pins a message of a thread. The thread keeps a copy, for the message may grow too old.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its messages, stream
-- KEYS[3]  log of the part, stream
-- KEYS[4]  state of the part, hash
-- ARGV[1]  id of the thread
-- ARGV[2]  id of the message, 0 for none
-- ARGV[3]  now, in Unix milliseconds; "" for the clock of Redis
-- Returns 0: pinned
--         2: there is no such thread    6: busy, see log.lua    9: Redis has no such message

local thread, messages, log, state = unpack(KEYS)
local id, message = unpack(ARGV)
local found = redis.call("HMGET", thread, "kind", "large")
if not found[1] then return 2 end
local entry
if message ~= "0" then
   entry = redis.call("XRANGE", messages, message .. "-0", message .. "-0")[1]
   if not entry then return 9 end
end
if isBusy(state) then return 6 end
if entry then
   redis.call("HSET", thread, "pinned", message, "pinned_head", entry[2][2], "pinned_content", entry[2][4])
else
   redis.call("HDEL", thread, "pinned", "pinned_head", "pinned_content")
end
tell(log, state, milliseconds(ARGV[3]), id, "pinned", found[2], message, 0, 0, "")
return 0
