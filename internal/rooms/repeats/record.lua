-- How a text is counted. This is a part of scripts, see scripts.go.
--
-- A text is a sorted set with at most one entry for each second in which it came. The score is the second,
-- the member the running total up to and with it. The count of a window is the last total less the total
-- at the window's start. So each step takes O(log n), however often the text came.
--
-- What all texts and marks of events take is bounded by their number: each entry and each mark is a record,
-- and a hash holds how many records were made, by when all of a slot of time are over.
local call = redis.call
local TRIM = 100  -- entries that one message removes at most: more than it adds
local LARGE = 128 -- a text with more entries is swept: to free it at once could stall Redis
local GRACE = 60  -- seconds that a key outlives its window, so that the sweep comes first
local SLOTS = 64  -- of a window: a record counts for up to 1/64 of it too long

-- milliseconds returns the time: an ARGV, or the clock of Redis where that is ''.
local function milliseconds(now)
  if now ~= '' then return tonumber(now) end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- made returns how many records there are now, in seconds, and forgets the slots that are over.
local function made(records, now)
  local found = call('HMGET', records, 'first', 'total')
  local first, total = tonumber(found[1] or 0), tonumber(found[2] or 0)
  if total == 0 or first > now then return total end
  local slots = call('HGETALL', records)
  first, total = math.huge, 0
  for i = 1, #slots, 2 do
    local over = tonumber(slots[i]) -- 'first' and 'total' are no numbers
    if over and over <= now then
      call('HDEL', records, slots[i])
    elseif over then
      first, total = math.min(first, over), total + tonumber(slots[i + 1])
    end
  end
  if total == 0 then
    call('DEL', records)
    return 0
  end
  call('HSET', records, 'first', first, 'total', total)
  return total
end

-- add notes that n records were made now, which are over after life seconds.
local function add(records, now, life, n)
  if n == 0 then return end
  local slot = math.ceil(life / SLOTS)
  local over = (math.floor(now / slot) + 1) * slot + life
  call('HINCRBY', records, 'total', n)
  if call('HINCRBY', records, over, n) > n then return end
  local first = tonumber(call('HGET', records, 'first') or over)
  call('HSET', records, 'first', math.min(first, over))
  if call('TTL', records) < over - now then call('EXPIRE', records, over - now) end
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

-- record counts the text in the window before now, both in seconds, and records it once more. left is how
-- many records may still be made: a message that would need one more is not recorded. Returns
-- the count, how many records it made, and whether the text is recorded.
local function record(text, sweeps, now, window, left)
  local last = call('ZREVRANGE', text, 0, 0, 'WITHSCORES')
  local total, second = tonumber(last[1] or 0), tonumber(last[2] or 0)
  now = math.max(now, second) -- the clock may go back, totals may not
  local before = trim(text, now - window, TRIM)
  local more = second == now and 0 or 1
  if more > left then return total - before, 0, false end
  if more == 0 then call('ZREM', text, last[1]) end
  call('ZADD', text, now, string.format('%.0f', total + 1))
  call('EXPIRE', text, window + GRACE)
  if more == 1 and call('ZCARD', text) > LARGE then
    call('ZADD', sweeps, 'NX', now, text) -- the sweep finds out when there is something to do
    call('EXPIRE', sweeps, window + GRACE)
  end
  return total - before, more, true
end
