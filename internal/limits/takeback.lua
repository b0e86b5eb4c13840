-- Takes back what a call has counted. It stands behind buckets.lua. A bucket that has left its ring stays as
-- it is: no window reads it any more.
--
-- KEYS[i]  the keys in which the call has counted
-- ARGV[1]  the second in which it was counted, in Unix seconds
-- ARGV[2]  its cost
-- Returns 0.

local at, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
for _, key in ipairs(KEYS) do
   for _, bucket in ipairs(load(key, at)) do
      if bucket[2] == math.floor(at / bucket[1]) then put(key, bucket[1], bucket[2], bucket[3] - cost) end
   end
   local hour = hourKey(key, math.floor(at / 3600))
   if redis.call("EXISTS", hour) == 1 then
      redis.call("HINCRBY", hour, "m" .. math.floor(at % 3600 / 60), -cost)
      redis.call("HINCRBY", hour, "s" .. at % 3600, -cost)
   end
end
return 0
