-- Trims texts that may get no more messages, in a small step.
--
-- KEYS[1]   texts with many entries: set
-- KEYS[2+]  some of these: sorted sets as in record.lua
-- ARGV[1]   the window: seconds > 0
-- ARGV[2]   entries to remove of each at most: integer > 0
-- ARGV[3]   now: Unix milliseconds, '' for the clock of Redis
--
-- Returns the number of entries that were removed: integer >= 0
local large, window, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local start = math.floor(milliseconds(ARGV[3]) / 1000) - window

local removed = 0
for i = 2, #KEYS do
  local _, trimmed = trim(KEYS[i], start, most)
  removed = removed + trimmed
  if call('ZCARD', KEYS[i]) <= LARGE then call('SREM', large, KEYS[i]) end
end
return removed
