-- Trims texts that may get no more messages, in a small step.
--
-- KEYS[1]   texts with many entries by when to sweep them: sorted set, Unix seconds
-- KEYS[2+]  the first of these: sorted sets as in record.lua
-- ARGV[1]   the window: seconds > 0
-- ARGV[2]   entries to remove of each at most: integer > 0, below LARGE
-- ARGV[3]   now: Unix milliseconds, '' for the clock of Redis
--
-- Returns the number of texts that were due: integer >= 0
local sweeps, window, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local now = math.floor(milliseconds(ARGV[3]) / 1000)
local start = now - window

-- sweep trims a text and returns when to sweep it again, nil for never. The next time is when as many
-- entries are over as a step removes. A text that is still sent trims itself, so it costs little here.
local function sweep(text)
  local last = call('ZREVRANGE', text, 0, 0, 'WITHSCORES')[2]
  if not last then return nil end
  if tonumber(last) <= start then
    call('UNLINK', text) -- all is over: Redis frees it on another thread
    return nil
  end
  trim(text, start, most)
  if call('ZCARD', text) <= LARGE then return nil end
  return tonumber(call('ZRANGE', text, most, most, 'WITHSCORES')[2]) + window
end

local due = 0
for i = 2, #KEYS do
  local at = call('ZSCORE', sweeps, KEYS[i])
  if at and tonumber(at) <= now then -- another server may have swept it meanwhile
    due = due + 1
    local again = sweep(KEYS[i])
    if again then
      call('ZADD', sweeps, again, KEYS[i])
    else
      call('ZREM', sweeps, KEYS[i])
    end
  end
end
return due
