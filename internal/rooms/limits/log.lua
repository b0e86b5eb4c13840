-- Log: which calls of a feature value were counted, and when. This is a part of scripts, see scripts.go.
--
-- A key is a string of numbers of 6 bytes, the highest first: a total, then for each tick of time in which
-- something was counted, oldest first, the tick's beginning in Unix milliseconds and the total at its end.
-- What was counted between two ticks is the difference of two totals, so a script finds it by a few steps in
-- a log of any length. Totals begin again at 2^48.

local numberBytes, entryBytes, whole = 6, 12, 4096
local wrap = 2 ^ 48

local function pack(n)
   local bytes = {}
   for i = numberBytes, 1, -1 do
      bytes[i] = n % 256
      n = math.floor(n / 256)
   end
   return string.char(unpack(bytes))
end

-- open reads a short log. Of a longer log only the numbers that are needed are read.
local function open(key)
   local text = redis.call("GETRANGE", key, 0, whole - 1)
   local log = { key = key, text = text, bytes = #text }
   if log.bytes == whole then log.text, log.bytes = nil, redis.call("STRLEN", key) end
   log.size = math.floor(log.bytes / entryBytes)
   return log
end

-- number reads the number at an offset.
local function number(log, offset)
   local text, from = log.text, offset + 1
   if not text then text, from = redis.call("GETRANGE", log.key, offset, offset + numberBytes - 1), 1 end
   local a, b, c, d, e, f = string.byte(text, from, from + numberBytes - 1)
   return ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
end

-- The entries are 1 to log.size; 0 has a total only.
local function time(log, i) return number(log, i * entryBytes - numberBytes) end
local function total(log, i) return log.size > 0 and number(log, i * entryBytes) or 0 end

-- search returns the first entry, at from or later, for which reached is true, and log.size + 1 if there is
-- no such entry. All entries after it have reached it too.
local function search(log, from, reached)
   local to = log.size + 1
   while from < to do
      local middle = math.floor((from + to) / 2)
      if reached(middle) then to = middle else from = middle + 1 end
   end
   return from
end

-- write writes an entry, the last one or one behind it. Before the first one it leaves a total of 0.
local function write(log, i, entry)
   local offset = i * entryBytes - numberBytes
   redis.call("SETRANGE", log.key, offset, entry)
   if log.text then log.text = string.sub(log.text .. pack(0), 1, offset) .. entry end
end

-- drop forgets the oldest entries. Their total stays, as that before the first.
local function drop(log, entries)
   redis.call("SET", log.key, redis.call("GETRANGE", log.key, entries * entryBytes, -1))
   log.text = log.text and string.sub(log.text, entries * entryBytes + 1)
   log.size = log.size - entries
end
