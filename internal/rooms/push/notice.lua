-- Queue the messages to offline users that were found in the log, once.
-- KEYS[1]    string, position in the log up to which they are found
-- KEYS[2]    stream of the queue
-- ARGV[1]    position that the caller began after
-- ARGV[2]    position up to which the caller has looked
-- ARGV[3]    most entries of the queue
-- ARGV[4..]  entries to add, JSON
-- Returns the number of old entries that had to go, or -1 if another server was faster.
local seen, queue = KEYS[1], KEYS[2]
local from, to, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
if tonumber(redis.call('GET', seen) or '-1') ~= from then
  return -1
end
for i = 4, #ARGV do
  redis.call('XADD', queue, '*', 'n', ARGV[i])
end
redis.call('SET', seen, to)
local over = redis.call('XLEN', queue) - most
if over > 0 then
  redis.call('XTRIM', queue, 'MAXLEN', most)
  return over
end
return 0
