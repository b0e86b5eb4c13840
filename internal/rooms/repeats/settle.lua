-- Ends the sending of a reply: it leaves the queue, or waits for another attempt. A reply that has left is
-- not put back: another server may have sent it meanwhile.
--
-- KEYS[1]  events by when their reply is due: sorted set, Unix milliseconds
-- KEYS[2]  replies by event: hash
-- ARGV[1]  the event: string
-- ARGV[2]  the reply as it is to wait: string; '' when it is to leave
-- ARGV[3]  the time until the next attempt: milliseconds >= 0
-- ARGV[4]  now: Unix milliseconds, '' for the clock of Redis
--
-- Returns 1, or 0 when it had left already
local due, replies, event, reply = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local pause, now = tonumber(ARGV[3]), milliseconds(ARGV[4])

if call('HEXISTS', replies, event) == 0 then return 0 end
if reply == '' then
  call('ZREM', due, event)
  call('HDEL', replies, event)
else
  call('HSET', replies, event, reply)
  call('ZADD', due, now + pause, event)
end
return 1
