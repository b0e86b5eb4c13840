-- Takes a code of an operator's second factor: once, and only while few codes were wrong. The caller has
-- checked the password. The clock is that of Redis, so servers with other clocks count in the same steps.
--
-- KEYS[1]  what is known of the operator's codes: hash of
--            used          the last step whose code was taken
--            step, wrong   a step (Unix time / length of a step) and the wrong codes in it
--            day, wrong_day  the same of a day
-- ARGV[1]  the step whose code it is, 0 if the code is wrong
-- ARGV[2]  length of a step: seconds > 0
-- ARGV[3]  wrong codes that a step may have
-- ARGV[4]  wrong codes that a day may have
--
-- Returns a code, and seconds to wait after 3 and 4, else 0:
--   0  the code is wrong; it counts
--   1  the code is right and taken
--   2  the code of this step, or of a later one, was taken before; it counts as wrong
--   3  the step has too many wrong codes; this one was not looked at
--   4  the day has
local key = KEYS[1]
local codeStep, stepSeconds = tonumber(ARGV[1]), tonumber(ARGV[2])
local stepMax, dayMax = tonumber(ARGV[3]), tonumber(ARGV[4])
local daySeconds, keptSeconds = 86400, 2 * 86400

local now = tonumber(redis.call('TIME')[1])
local step, day = math.floor(now / stepSeconds), math.floor(now / daySeconds)
local known = redis.call('HMGET', key, 'used', 'step', 'wrong', 'day', 'wrong_day')
local wrong, wrongDay = 0, 0
if tonumber(known[2]) == step then wrong = tonumber(known[3]) end
if tonumber(known[4]) == day then wrongDay = tonumber(known[5]) end

if wrongDay >= dayMax then return {4, (day + 1) * daySeconds - now} end
if wrong >= stepMax then return {3, (step + 1) * stepSeconds - now} end

if codeStep > (tonumber(known[1]) or 0) then
  redis.call('HSET', key, 'used', codeStep)
  redis.call('EXPIRE', key, keptSeconds)
  return {1, 0}
end
redis.call('HSET', key, 'step', step, 'wrong', wrong + 1, 'day', day, 'wrong_day', wrongDay + 1)
redis.call('EXPIRE', key, keptSeconds)
if codeStep > 0 then return {2, 0} end
return {0, 0}
