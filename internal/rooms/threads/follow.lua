-- Makes the lists of users of one part follow logs, each exactly once: of entries that were followed before,
-- by this keeper or by another one that it replaced, nothing is done.
--
-- KEYS[1]  done of the part of these users, hash
-- KEYS     then three keys for each user: list, large groups, started threads; sorted sets
-- ARGV[1]  threads of a list, most
-- ARGV[2]  large groups of a user, most
-- ARGV[3]  now, in Unix milliseconds; "" for the clock of Redis
-- ARGV     then for each log: its part, position up to which these lists follow it afterwards ("" leaves it:
--          more steps come), number of steps; and for each step: position of its entry, number of the user
--          in KEYS from 0, what, thread
--            changed  the thread is in the list, as the newest one
--            large    the thread is among the large groups, not in the list
--            left     it is in neither
--            ended    it is no longer among those that the user has started
-- Returns the number of steps that were done.

local done, listMax, largeMax = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = tonumber(redis.call("HGET", done, "clock") or 0)
local now, steps = microseconds(ARGV[3]), 0

local function put(key, thread, most)
   clock = math.max(now, clock + 1) -- cursors of a list are different, and grow
   if redis.call("ZADD", key, whole(clock), thread) == 1 then
      redis.call("ZREMRANGEBYRANK", key, 0, -1 - most)
   end
end

local function follow(user, what, thread)
   local list, large, made = KEYS[user], KEYS[user + 1], KEYS[user + 2]
   if what == "changed" then
      put(list, thread, listMax)
   elseif what == "large" then
      redis.call("ZREM", list, thread)
      if not redis.call("ZSCORE", large, thread) then put(large, thread, largeMax) end
   elseif what == "left" then
      redis.call("ZREM", list, thread)
      redis.call("ZREM", large, thread)
   else
      redis.call("ZREM", made, thread)
   end
   steps = steps + 1
end

local i = 4
while ARGV[i] do
   local part, upto, count = ARGV[i], ARGV[i + 1], ARGV[i + 2]
   local before = tonumber(redis.call("HGET", done, part) or 0)
   i = i + 3
   for step = i, i + 4 * count - 1, 4 do
      if tonumber(ARGV[step]) > before then
         follow(2 + 3 * ARGV[step + 1], ARGV[step + 2], ARGV[step + 3])
      end
   end
   i = i + 4 * count
   if upto ~= "" and tonumber(upto) > before then redis.call("HSET", done, part, upto) end
end
if steps > 0 then redis.call("HSET", done, "clock", whole(clock)) end
return steps
