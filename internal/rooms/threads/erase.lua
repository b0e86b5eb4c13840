-- Takes the content of a message away. Its position stays: a message without an entry is an erased one.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its messages, stream
-- KEYS[3]  log of the part, stream
-- KEYS[4]  state of the part, hash
-- ARGV[1]  id of the thread
-- ARGV[2]  id of the message
-- ARGV[3]  now, in Unix milliseconds; "" for the clock of Redis
-- Returns 0: erased, now or before
--         2: there is no such thread    6: busy, see log.lua    9: Redis has no such message

local thread, messages, log, state = unpack(KEYS)
local id, message = ARGV[1], tonumber(ARGV[2])
local last, first, large, pinned = unpack(redis.call("HMGET", thread, "last", "first", "large", "pinned"))
if not last then return 2 end
if message < tonumber(first) or message > tonumber(last) then return 9 end
if isBusy(state) then return 6 end
if redis.call("XDEL", messages, message .. "-0") == 0 then return 0 end
local now = milliseconds(ARGV[3])
if pinned and tonumber(pinned) == message then
   redis.call("HDEL", thread, "pinned", "pinned_head", "pinned_content")
   tell(log, state, now, id, "pinned", large, 0, 0, 0, "")
end
tell(log, state, now, id, "erased", large, message, 0, 0, "")
return 0
