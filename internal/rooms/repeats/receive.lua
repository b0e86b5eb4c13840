-- Receives a message to the bot: counts its text, records it and queues the reply, all or nothing.
--
-- KEYS[1]  texts with many entries by when to sweep them: sorted set, Unix seconds
-- KEYS[2]  how many records there are: hash as in record.lua
-- KEYS[3]  the text: sorted set as in record.lua
-- KEYS[4]  mark of the event: string
-- KEYS[5]  events of the group by when their reply is due: sorted set, Unix milliseconds
-- KEYS[6]  replies of the group by event: hash of "peer:count:attempts"
-- KEYS[7]  mark that VK refuses the token of the group: string
-- ARGV[1]  the window: seconds > 0
-- ARGV[2]  records that there may be: integer >= 0
-- ARGV[3]  the event: string
-- ARGV[4]  the conversation that gets the reply: integer
-- ARGV[5]  replies of the group that may wait: integer
-- ARGV[6]  the same while VK refuses its token: integer
-- ARGV[7]  the reply to a message without a text, which is not counted; '' for one with a text
-- ARGV[8]  now: Unix milliseconds, '' for the clock of Redis
--
-- Returns 0  received
--         1  the event was received before: nothing is changed
--         2  as many replies wait as may: nothing is changed
--         3  counted; there is no reply, because VK refuses the token and enough replies wait
--         4  the reply waits; neither text nor event is recorded, because there may be no more records
local sweeps, records, text, mark, due, replies, refused = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5],
  KEYS[6], KEYS[7]
local window, records_max, event, peer = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local most, parked, reply, now = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], milliseconds(ARGV[8])
local RECEIVED, SEEN_BEFORE, REPLIES_AT_MAX, NO_REPLY, NOT_RECORDED = 0, 1, 2, 3, 4
local MARK_SECONDS = 86400   -- VK repeats an event for some minutes
local QUEUE_SECONDS = 172800 -- a reply waits a day at most, unless its group has no server any more

if call('EXISTS', mark) == 1 then return SEEN_BEFORE end
local waiting = call('ZCARD', due)
local dropped = waiting >= parked and call('EXISTS', refused) == 1
if waiting >= most and not dropped then return REPLIES_AT_MAX end

local second = math.floor(now / 1000)
local left = records_max - made(records, second) - 1 -- the mark is a record, too
local recorded, new = left >= 0, 0
if reply == '' then
  local count, more, done = record(text, sweeps, second, window, left)
  reply, new, recorded = count, more, recorded and done
end
if recorded then
  call('SET', mark, '1', 'EX', MARK_SECONDS)
  add(records, second, MARK_SECONDS, 1)
  add(records, second, window + GRACE, new)
end
if dropped then return NO_REPLY end
call('HSET', replies, event, string.format('%s:%s:0', peer, reply))
call('ZADD', due, now, event)
call('EXPIRE', replies, QUEUE_SECONDS)
call('EXPIRE', due, QUEUE_SECONDS)
return recorded and RECEIVED or NOT_RECORDED
