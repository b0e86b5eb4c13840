-- Counts texts and records them, one after the other. It takes any number of calls.
--
-- KEYS[1]    texts with many entries by when to sweep them: sorted set, Unix seconds
-- KEYS[i+1]  the text of call i: sorted set as in record.lua
-- ARGV[1]    the window: seconds > 0
-- ARGV[i+1]  the time of call i: Unix milliseconds, '' for the clock of Redis
--
-- Returns for each call how often its text came in the window before: integer >= 0
local sweeps, window = KEYS[1], tonumber(ARGV[1])

local counts = {}
for i = 1, #KEYS - 1 do
  local now = math.floor(milliseconds(ARGV[i + 1]) / 1000)
  counts[i] = record(KEYS[i + 1], sweeps, now, window)
end
return counts
