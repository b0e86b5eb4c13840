-- Buckets: how often the calls of one feature value were counted, by second, minute and hour. The part that
-- the scripts of limits share.
--
-- A key is a hash with rings of buckets: s0..s60 for the last minute, m0..m60 for the last hour, h0..h24 for
-- the last day. A field holds number % numbers * scale + count; the number is the time divided by the
-- bucket's length, so a field of an earlier round is told from one of this round. A precise key also has
-- "<key>:<hour>" for each hour, with the hour's minutes (m0..m59) and seconds (s0..s3599).

local scale = 4194304 -- 2^22; a bucket counts to scale - 1 and stays there
local numbers = 2147483648 -- 2^31; a double has 53 bits, and the seconds since 1970 take 32 from 2038 on
local names = { [1] = "s", [60] = "m", [3600] = "h" }
local lengths = { s = 1, m = 60, h = 3600 }
local slots = { [1] = 61, [60] = 61, [3600] = 25 }

-- load reads a key: a list of {length, number, count}. Of the numbers that are stored alike it takes the one
-- next to now.
local function load(key, now)
   local fields, buckets = redis.call("HGETALL", key), {}
   for i = 1, #fields, 2 do
      local packed = tonumber(fields[i + 1])
      local stored = math.floor(packed / scale)
      local length = lengths[string.sub(fields[i], 1, 1)]
      local rounds = math.floor((now / length - stored) / numbers + 0.5)
      buckets[#buckets + 1] = { length, stored + rounds * numbers, packed - stored * scale }
   end
   return buckets
end

-- hourKey is the key with the minutes and seconds of an hour.
local function hourKey(key, hour) return string.format("%s:%d", key, hour) end

-- put sets the ring's bucket of a number.
local function put(key, length, number, count)
   local packed = number % numbers * scale + math.max(0, math.min(count, scale - 1))
   redis.call("HSET", key, names[length] .. number % slots[length], string.format("%.0f", packed))
end
