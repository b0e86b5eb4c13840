-- Decides on a call: it counts in all logs or in no log. A call that has happened already counts in all
-- logs, whatever their rates.
--
-- KEYS[i]  a log of a feature value, see log.lua; a value has one for each length of ticks
-- ARGV[1]  now, in Unix milliseconds; "" for the time of Redis
-- ARGV[2]  cost of the call; 0 counts nothing
-- ARGV[3]  1: it has happened, 0: it asks whether it may
-- ARGV     for each key the length of a tick in milliseconds and the number of its rates, then for each:
--            limit   calls in a window
--            window  in milliseconds, a multiple of the tick
--            shadow  1: never refuses
-- Returns {admitted: 1 or 0}, then for each rate in its order:
--   count of the window, with this call if it counted;
--   milliseconds until the next call can fit, of this cost (at least 1), or of cost 1 if this one has
--     happened; 0 where it would fit now;
--   milliseconds until all that is counted has left the window
-- The clock never runs backwards for a log: a time before its newest tick counts as the time of that tick,
-- in this log only.

local now, cost, happened = milliseconds(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == "1"
local need = happened and 1 or math.max(cost, 1)

-- follow reads the log and its rates from the arguments. It returns the place of the next log's arguments.
local function follow(log, at)
   log.length, log.rates, log.window = tonumber(ARGV[at]), {}, 0
   log.now = math.max(now, log.size > 0 and time(log, log.size) or 0)
   log.tick = math.floor(log.now / log.length) * log.length
   log.total = total(log, log.size)
   for i = 1, tonumber(ARGV[at + 1]) do
      local rate = { limit = tonumber(ARGV[at + 2]), window = tonumber(ARGV[at + 3]),
         shadow = ARGV[at + 4] == "1" }
      local begin = log.tick - rate.window
      rate.first = search(log, 1, function(i) return time(log, i) >= begin end)
      rate.before = total(log, rate.first - 1)
      rate.count = (log.total - rate.before) % wrap
      log.rates[i], log.window = rate, math.max(log.window, rate.window)
      log.first = math.min(log.first or rate.first, rate.first)
      at = at + 3
   end
   return at + 2
end

-- count counts the call in a log.
local function count(log)
   log.total = (log.total + cost) % wrap
   if log.size == 0 or log.tick > time(log, log.size) then log.size = log.size + 1 end
   write(log, log.size, pack(log.tick) .. pack(log.total))
   local dead = log.first - 1
   if dead > (log.size - dead) / 2 + 8 then -- not each time: that would copy the log for each call
      drop(log, dead)
      for _, rate in ipairs(log.rates) do rate.first = rate.first - dead end
   end
   redis.call("PEXPIREAT", log.key, log.now + log.window + log.length)
end

local logs, fits, at = {}, true, 4
for i, key in ipairs(KEYS) do
   logs[i] = open(key)
   at = follow(logs[i], at)
   for _, rate in ipairs(logs[i].rates) do
      if not rate.shadow and rate.count + need > rate.limit then fits = false end
   end
end

local admitted = fits or happened
if admitted and cost > 0 then
   for _, log in ipairs(logs) do
      for _, rate in ipairs(log.rates) do rate.count = rate.count + cost end
      count(log)
   end
end

-- leaves returns when an entry leaves a window, in milliseconds.
local function leaves(log, rate, i) return time(log, i) + log.length + rate.window - log.now end

local reply = { admitted and 1 or 0 }
for _, log in ipairs(logs) do
   for _, rate in ipairs(log.rates) do
      local wait, reset, over = 0, 0, rate.count + need - rate.limit
      if rate.count > 0 then
         reset = leaves(log, rate, log.size)
         if over > 0 then
            local room = search(log, rate.first, function(i)
               return (total(log, i) - rate.before) % wrap >= over
            end)
            wait = leaves(log, rate, math.min(room, log.size)) -- past the last entry: cost > limit
         end
      end
      reply[#reply + 1] = rate.count
      reply[#reply + 1] = wait
      reply[#reply + 1] = reset
   end
end
return reply
