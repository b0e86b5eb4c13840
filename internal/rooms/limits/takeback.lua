-- Takes back what a call has counted.
--
-- KEYS[i]  a log in which the call has counted
-- ARGV[1]  when it was counted, in Unix milliseconds
-- ARGV[2]  its cost
-- ARGV     for each key the length of its ticks in milliseconds
-- Returns 0.

local at, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
for key, name in ipairs(KEYS) do
   local log, length = open(name), tonumber(ARGV[2 + key])
   log.text = nil -- it reads its own writes below
   local tick = math.floor(at / length) * length
   local i = search(log, 1, function(i) return time(log, i) >= tick end)
   if i <= log.size and time(log, i) == tick and (total(log, i) - total(log, i - 1)) % wrap >= cost then
      for later = i, log.size do
         write(log, later, pack(time(log, later)) .. pack((total(log, later) - cost) % wrap))
      end
   end
end
return 0
