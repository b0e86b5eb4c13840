-- How a text is counted. This is no script by itself: Go puts it before count.lua, receive.lua and
-- sweep.lua.
--
-- A text is a sorted set with at most one entry for each second in which it came. The score is the second,
-- the member the running total up to and with it. The count of a window is the last total less the total
-- at the window's start. So each step takes O(log n), however often the text came.
local call = redis.call
local TRIM = 100  -- entries that one message removes at most: more than it adds
local LARGE = 128 -- a text with more entries is swept: to free it at once could stall Redis
local GRACE = 60  -- seconds that a key outlives its window, so that the sweep comes first

-- milliseconds returns the time: an ARGV, or the clock of Redis where that is ''.
local function milliseconds(now)
  if now ~= '' then return tonumber(now) end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- trim removes up to most entries that are over and returns the total at the start of the window, and how
-- many entries it removed. The last entry that is over stays: it holds that total.
local function trim(text, start, most)
  local over = call('ZCOUNT', text, '-inf', start)
  if over == 0 then return 0, 0 end
  local total = tonumber(call('ZRANGE', text, over - 1, over - 1)[1])
  local removed = math.min(over - 1, most)
  if removed > 0 then call('ZREMRANGEBYRANK', text, 0, removed - 1) end
  return total, removed
end

-- record counts the text in the window before now, both in seconds, and records it once more.
local function record(text, sweeps, now, window)
  local last = call('ZREVRANGE', text, 0, 0, 'WITHSCORES')
  local total, second = tonumber(last[1] or 0), tonumber(last[2] or 0)
  now = math.max(now, second) -- the clock may go back, totals may not
  local before = trim(text, now - window, TRIM)
  if second == now then call('ZREM', text, last[1]) end
  call('ZADD', text, now, string.format('%.0f', total + 1))
  call('EXPIRE', text, window + GRACE)
  if second ~= now and call('ZCARD', text) > LARGE then
    call('ZADD', sweeps, 'NX', now, text) -- the sweep finds out when there is something to do
    call('EXPIRE', sweeps, window + GRACE)
  end
  return total - before
end
