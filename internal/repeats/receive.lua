-- Receives a message to the bot: counts its text, records it and queues the reply, all or nothing.
--
-- KEYS[1]  texts with many entries by when to sweep them: sorted set, Unix seconds
-- KEYS[2]  the text: sorted set as in record.lua
-- KEYS[3]  mark of the event: string
-- KEYS[4]  events by when their reply is due: sorted set, Unix milliseconds
-- KEYS[5]  replies by event: hash of "peer:count:attempts"
-- ARGV[1]  the window: seconds > 0
-- ARGV[2]  the event: string
-- ARGV[3]  the conversation that gets the reply: integer
-- ARGV[4]  replies that may wait: integer
-- ARGV[5]  now: Unix milliseconds, '' for the clock of Redis
--
-- Returns 0  received
--         1  the event was received before: nothing is changed
--         2  as many replies wait as may: nothing is changed
local sweeps, text, mark, due, replies = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local window, event, peer, most = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local now = milliseconds(ARGV[5])
local RECEIVED, SEEN_BEFORE, REPLIES_AT_MAX = 0, 1, 2
local MARK_SECONDS = 86400 -- VK repeats an event for some minutes

if call('EXISTS', mark) == 1 then return SEEN_BEFORE end
if call('ZCARD', due) >= most then return REPLIES_AT_MAX end
call('SET', mark, '1', 'EX', MARK_SECONDS)
local count = record(text, sweeps, math.floor(now / 1000), window)
call('HSET', replies, event, string.format('%s:%d:0', peer, count))
call('ZADD', due, now, event)
return RECEIVED
