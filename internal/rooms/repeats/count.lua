-- Counts texts and records them, one after the other. It takes any number of calls.
--
-- KEYS[1]    texts with many entries by when to sweep them: sorted set, Unix seconds
-- KEYS[2]    how many records there are: hash as in record.lua
-- KEYS[i+2]  the text of call i: sorted set as in record.lua
-- ARGV[1]    the window: seconds > 0
-- ARGV[2]    records that there may be: integer >= 0
-- ARGV[i+2]  the time of call i: Unix milliseconds, '' for the clock of Redis
--
-- Returns for each call how often its text came in the window before: integer n >= 0; -1-n if the text was
-- not recorded, because there may be no more records
local sweeps, records, window, most = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2])

local counts, last, new, left = {}, 0, 0, nil
for i = 1, #KEYS - 2 do
  last = math.floor(milliseconds(ARGV[i + 2]) / 1000)
  left = left or most - made(records, last)
  local count, more, recorded = record(KEYS[i + 2], sweeps, last, window, left - new)
  new = new + more
  counts[i] = recorded and count or -1 - count
end
add(records, last, window + GRACE, new)
return counts
