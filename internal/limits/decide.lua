-- Decides on a call: either it counts in all keys, or in none. What has happened already counts in all keys,
-- whatever their rates. It stands behind buckets.lua.
--
-- KEYS[i]  the buckets of a feature value, see buckets.lua
-- ARGV[1]  now, in Unix seconds; "" for the time of Redis
-- ARGV[2]  cost of the call; 0 only looks
-- ARGV[3]  1: it has happened, 0: it asks whether it may
-- ARGV     for each key the number of its rates, then for each rate:
--            limit    calls in a window
--            length   of the buckets that it reads, in seconds: 1, 60 or 3600
--            window   in seconds, a multiple of the length
--            precise  1: exact to a second, 0: exact to a bucket
--            shadow   1: never refuses
-- Returns {time of the first key, admitted: 1 or 0}, then for each rate in its order:
--   count of the window, with this call if it counted;
--   seconds until the next call of this cost (at least 1) can fit, 0 where it would fit now;
--   seconds until all that is counted has left the window
-- The clock never runs backwards for a key: a time before that of its newest bucket counts as that one, in
-- this key and in no other.

local now = tonumber(ARGV[1]) or tonumber(redis.call("TIME")[1])
local cost, happened = tonumber(ARGV[2]), ARGV[3] == "1"
local need = math.max(cost, 1)

-- Reads the rates of all keys.
local keys, rates, at = {}, {}, 4
for i, name in ipairs(KEYS) do
   local key = { name = name, buckets = load(name, now), now = now, lengths = {}, ttl = 0, precise = 0 }
   keys[i] = key
   for _, bucket in ipairs(key.buckets) do key.now = math.max(key.now, bucket[1] * bucket[2]) end
   for _ = 1, tonumber(ARGV[at]) do
      local rate = { key = key, limit = tonumber(ARGV[at + 1]), length = tonumber(ARGV[at + 2]),
         window = tonumber(ARGV[at + 3]), shadow = ARGV[at + 5] == "1" }
      rate.precise = ARGV[at + 4] == "1" and rate.length > 1
      rates[#rates + 1] = rate
      key.ttl = math.max(key.ttl, rate.window + rate.length)
      key.lengths[rate.precise and 3600 or rate.length] = true
      if rate.precise then
         key.precise = math.max(key.precise, rate.window)
         key.lengths[1] = true -- tells the newest second
      end
      at = at + 5
   end
   at = at + 1
end

-- ringPieces lists what the rings hold of a window, oldest first: {first second, length, count}.
local function ringPieces(rate)
   local first, pieces = math.floor(rate.key.now / rate.length) * rate.length - rate.window, {}
   for _, bucket in ipairs(rate.key.buckets) do
      local begin = bucket[1] * bucket[2]
      if bucket[1] == rate.length and begin >= first and bucket[3] > 0 then
         pieces[#pieces + 1] = { begin, bucket[1], bucket[3] }
      end
   end
   table.sort(pieces, function(a, b) return a[1] < b[1] end)
   return pieces
end

-- walk lists the buckets that together are just the seconds from first to last, oldest first: whole hours,
-- and at both edges whole minutes and single seconds. There are 143 at most.
local function walk(first, last)
   local path, i = {}, first
   while i <= last do
      local length = 1
      if i % 3600 == 0 and i + 3599 <= last then
         length = 3600
      elseif i % 60 == 0 and i + 59 <= last then
         length = 60
      end
      path[#path + 1] = { i, length, 0 }
      i = i + length
   end
   return path
end

-- precisePieces is ringPieces, exact to a second.
local function precisePieces(rate)
   local path = walk(rate.key.now - rate.window, rate.key.now)
   local hours, edges, order = {}, {}, {}
   for _, bucket in ipairs(rate.key.buckets) do
      if bucket[1] == 3600 then hours[bucket[2]] = bucket[3] end
   end
   for _, piece in ipairs(path) do
      local hour = math.floor(piece[1] / 3600)
      if piece[2] == 3600 then
         piece[3] = hours[hour] or 0
      elseif hours[hour] then -- an hour without calls has no key to read
         if not edges[hour] then
            edges[hour] = { fields = {}, pieces = {} }
            order[#order + 1] = hour
         end
         local edge = edges[hour]
         edge.fields[#edge.fields + 1] = names[piece[2]] .. piece[1] % 3600 / piece[2]
         edge.pieces[#edge.pieces + 1] = piece
      end
   end
   for _, hour in ipairs(order) do
      local edge = edges[hour]
      local counts = redis.call("HMGET", hourKey(rate.key.name, hour), unpack(edge.fields))
      for i, piece in ipairs(edge.pieces) do piece[3] = tonumber(counts[i] or 0) end
   end
   local pieces = {}
   for _, piece in ipairs(path) do
      if piece[3] > 0 then pieces[#pieces + 1] = piece end
   end
   return pieces
end

-- Checks all rates.
local fits = true
for _, rate in ipairs(rates) do
   rate.pieces = (rate.precise and precisePieces or ringPieces)(rate)
   rate.count = 0
   for _, piece in ipairs(rate.pieces) do rate.count = rate.count + piece[3] end
   if not rate.shadow and rate.count + need > rate.limit then fits = false end
end

-- count counts the call in a key.
local function count(key)
   local now = key.now
   for length in pairs(key.lengths) do
      local number, before = math.floor(now / length), 0
      for _, bucket in ipairs(key.buckets) do
         if bucket[1] == length and bucket[2] == number then before = bucket[3] end
      end
      put(key.name, length, number, before + cost)
   end
   redis.call("EXPIRE", key.name, key.ttl + 1)
   if key.precise > 0 then
      local hour = hourKey(key.name, math.floor(now / 3600))
      redis.call("HINCRBY", hour, "m" .. math.floor(now % 3600 / 60), cost)
      redis.call("HINCRBY", hour, "s" .. now % 3600, cost)
      redis.call("EXPIRE", hour, key.precise + 3601)
   end
end

local admitted = fits or happened
local counted = admitted and cost > 0
if counted then
   for _, key in ipairs(keys) do count(key) end
end

-- Tells when a rate has room again.
local reply = { keys[1].now, admitted and 1 or 0 }
for _, rate in ipairs(rates) do
   local now, grain = rate.key.now, rate.precise and 1 or rate.length
   if counted then
      rate.count = rate.count + cost
      local begin = math.floor(now / grain) * grain
      rate.pieces[#rate.pieces + 1] = { begin, grain, cost }
   end
   local wait, reset, over = 0, 0, rate.count + need - rate.limit
   for _, piece in ipairs(rate.pieces) do
      if over > 0 then
         wait = piece[1] + rate.window + grain - now
         over = over - piece[3]
      end
      reset = math.max(reset, piece[1] + piece[2] + rate.window - now)
   end
   if over > 0 then wait = rate.window + grain end -- it costs more than the limit
   reply[#reply + 1] = rate.count
   reply[#reply + 1] = wait
   reply[#reply + 1] = reset
end
return reply
