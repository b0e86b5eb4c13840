-- Notes how many clients of a room a process has, and adds up those of all processes. What a process has
-- noted counts for some time, so that a process that died is forgotten.
--
-- KEYS[1]  clients by process: hash, each 'clients:time' with the time in Unix seconds
-- ARGV[1]  the process: string
-- ARGV[2]  its clients: integer >= 0
-- ARGV[3]  how long that counts: seconds > 0
--
-- Returns the clients of all processes: integer >= 0
local room, process, clients, seconds = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local now = tonumber(redis.call('TIME')[1])

redis.call('HSET', room, process, clients .. ':' .. now)
redis.call('EXPIRE', room, seconds)
local total, all = 0, redis.call('HGETALL', room)
for i = 1, #all, 2 do
  local count, time = string.match(all[i + 1], '^(%d+):(%d+)$')
  if not count or math.abs(now - time) >= seconds or count == '0' then
    redis.call('HDEL', room, all[i])
  else
    total = total + count
  end
end
return total
