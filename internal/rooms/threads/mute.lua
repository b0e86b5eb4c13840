-- Keeps a user from writing in a room.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  users who may not write, hash
-- KEYS[3]  log of the part, stream
-- KEYS[4]  state of the part, hash
-- ARGV[1]  id of the thread
-- ARGV[2]  id of the user
-- ARGV[3]  milliseconds, at most a month; 0 ends it
-- ARGV[4]  milliseconds after which the last one of them is over, whatever comes
-- ARGV[5]  now, in Unix milliseconds; "" for the clock of Redis
-- Returns 0: done
--         2: there is no such thread    5: it is no room    6: busy, see log.lua

local thread, muted, log, state = unpack(KEYS)
local id, user, length, longest = unpack(ARGV)
local found = redis.call("HMGET", thread, "kind", "large")
if not found[1] then return 2 end
if found[1] ~= "room" then return 5 end
if isBusy(state) then return 6 end
local now, till = milliseconds(ARGV[5]), 0
if length == "0" then
   redis.call("HDEL", muted, user)
else
   till = now + length
   redis.call("HSET", muted, user, whole(till))
   redis.call("PEXPIRE", muted, longest)
end
tell(log, state, now, id, "muted", found[2], 0, user, till, "")
return 0
