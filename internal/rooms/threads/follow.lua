-- Makes the lists of users follow the log of a part, exactly once: of entries that were followed before, by
-- this keeper or by another one that it replaced, nothing is done.
--
-- KEYS[1]  done of the part of these users, hash
-- KEYS     then three keys for each user: list, large groups, started threads; sorted sets
-- ARGV[1]  the part of the log
-- ARGV[2]  position up to which these lists follow the log afterwards; "" leaves it: more steps come
-- ARGV[3]  threads of a list, most
-- ARGV[4]  large groups of a user, most
-- ARGV[5]  now, in Unix milliseconds; "" for the clock of Redis
-- ARGV     then for each step: position of its entry, number of the user in KEYS from 0, what, thread
--            changed  the thread is in the list, as the newest one
--            large    the thread is among the large groups, not in the list
--            left     it is in neither
--            ended    it is no longer among those that the user has started
-- Returns the number of steps that were done.

local done, part, upto = KEYS[1], ARGV[1], ARGV[2]
local listMax, largeMax = tonumber(ARGV[3]), tonumber(ARGV[4])
local before, clock = unpack(redis.call("HMGET", done, part, "clock"))
before, clock = tonumber(before or 0), tonumber(clock or 0)
local now, steps = microseconds(ARGV[5]), 0

local function put(key, thread, most)
   clock = math.max(now, clock + 1) -- cursors of a list are different, and grow
   redis.call("ZADD", key, whole(clock), thread)
   redis.call("ZREMRANGEBYRANK", key, 0, -1 - most)
end

for i = 6, #ARGV, 4 do
   if tonumber(ARGV[i]) > before then
      local user, what, thread = 2 + 3 * ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
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
end
if upto ~= "" and tonumber(upto) > before then redis.call("HSET", done, part, upto) end
if steps > 0 then redis.call("HSET", done, "clock", whole(clock)) end
return steps
