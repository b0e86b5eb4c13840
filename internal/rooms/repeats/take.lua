-- Takes a reply that is due, if the pace allows it. Until settle.lua it stays in the queue, due again after
-- the lease: the server that took it may die.
--
-- KEYS[1]  events by when their reply is due: sorted set, Unix milliseconds
-- KEYS[2]  replies by event: hash
-- KEYS[3]  when the next reply may go: string, Unix milliseconds
-- ARGV[1]  the least time between two replies of all servers: milliseconds > 0
-- ARGV[2]  the lease: milliseconds > 0
-- ARGV[3]  now: Unix milliseconds, '' for the clock of Redis
--
-- Returns {wait, event, reply}: with a reply wait is 0; without one event and reply are '', and wait is the
--         time until a reply may be taken: milliseconds, -1 when the queue is empty
local due, replies, pace = KEYS[1], KEYS[2], KEYS[3]
local interval, lease, now = tonumber(ARGV[1]), tonumber(ARGV[2]), milliseconds(ARGV[3])

local first = call('ZRANGE', due, 0, 0, 'WITHSCORES')
if not first[1] then return { -1, '', '' } end
local wait = math.max(tonumber(first[2]), tonumber(call('GET', pace) or 0)) - now
if wait > 0 then return { wait, '', '' } end
local reply = call('HGET', replies, first[1])
if not reply then -- no script leaves it so
  call('ZREM', due, first[1])
  return { 0, '', '' }
end
call('ZADD', due, now + lease, first[1])
call('SET', pace, string.format('%.0f', now + interval), 'PX', 1000)
return { 0, first[1], reply }
