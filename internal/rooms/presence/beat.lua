-- Notes a heartbeat of a user, or whether others may see the user from now on. A heartbeat of an invisible
-- user leaves the time of the last visible one.
--
-- KEYS[1]  the user's last heartbeat: string, Unix milliseconds; a leading '-' for invisible; '-0' for never
-- ARGV[1]  the wish: 'visible', 'invisible', or '' to leave it as it is
-- ARGV[2]  how long the key stays while visible: seconds > 0
-- ARGV[3]  the same while invisible
--
-- Returns 1 if the user is visible now, 0 if invisible
local key, wish = KEYS[1], ARGV[1]
local visibleSeconds, invisibleSeconds = ARGV[2], ARGV[3]

local last = redis.call('GET', key) or '0'
local hidden = string.sub(last, 1, 1) == '-'
if wish == 'invisible' or hidden and wish ~= 'visible' then
  if not hidden then last = '-' .. last end
  redis.call('SET', key, last, 'EX', invisibleSeconds)
  return 0
end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('SET', key, now, 'EX', visibleSeconds)
return 1
