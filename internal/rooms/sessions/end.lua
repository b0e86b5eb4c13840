-- Notes that one session of somebody ends now, or all of them, and forgets some people whose tokens of then
-- have expired.
--
-- KEYS[1]  people by when they last ended something: sorted set, Unix milliseconds
-- KEYS[2]  what each of them has ended: hash; "<all> <session> <expires> <session> <expires> ...", where
--          <all> is when all ended, Unix milliseconds, 0 for never; the sessions are those since; expires:
--          Unix seconds
-- ARGV[1]  who: text
-- ARGV[2]  session: integer, "" for all
-- ARGV[3]  when the token of the session expires: Unix seconds; 0 for all
-- ARGV[4]  how long a token is valid: milliseconds > 0
-- ARGV[5]  people that there may be: integer > 0
-- ARGV[6]  sessions that one may end: integer > 0
--
-- Returns now: Unix milliseconds > 0;
--         0 if there are too many people, -1 if they have ended too many sessions: then it notes nothing
local changed, notes = KEYS[1], KEYS[2]
local who, session, expires, ttl = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local people_max, sessions_max = tonumber(ARGV[5]), tonumber(ARGV[6])
local forgotten_max = 100 -- with each call, so that none takes long

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local now_text = string.format('%.0f', now)
local old = redis.call('ZRANGEBYSCORE', changed, '-inf', string.format('(%.0f', now - ttl),
    'LIMIT', 0, forgotten_max)
if #old > 0 then
    redis.call('ZREM', changed, unpack(old))
    redis.call('HDEL', notes, unpack(old))
end

local note = redis.call('HGET', notes, who)
if not note and redis.call('ZCARD', changed) >= people_max then return 0 end
if session == '' then
    note = now_text
else
    local kept, count = string.match(note or '0', '^%d+'), 1
    for id, ends in string.gmatch(note or '', ' (%d+) (%d+)') do
        if id ~= session and ends * 1000 > now then
            kept, count = kept .. ' ' .. id .. ' ' .. ends, count + 1
        end
    end
    if count > sessions_max then return -1 end
    note = kept .. ' ' .. session .. ' ' .. expires
end
redis.call('HSET', notes, who, note)
redis.call('ZADD', changed, now_text, who)
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, string.format('%.0f', ttl)) end
return now
