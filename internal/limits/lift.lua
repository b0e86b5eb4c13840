-- Lifts a block: forgets all that is counted of feature values. It stands behind buckets.lua.
--
-- KEYS[i]  the buckets of a feature value
-- ARGV[1]  now, in Unix seconds; "" for the time of Redis
-- Returns the number of keys that were there.

local now = tonumber(ARGV[1]) or tonumber(redis.call("TIME")[1])
local found = 0
for _, key in ipairs(KEYS) do
   for _, bucket in ipairs(load(key, now)) do
      if bucket[1] == 3600 then redis.call("DEL", hourKey(key, bucket[2])) end
   end
   found = found + redis.call("DEL", key)
end
return found
