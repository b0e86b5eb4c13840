-- The time of a call: an argument, or the clock of Redis where that is "". This is a part of scripts, see
-- scripts.go.

-- microseconds is an exact number. Numbers of that size must be written by whole: Lua writes 14 digits only.
local function microseconds(now)
   if now ~= "" then return tonumber(now) * 1000 end
   local clock = redis.call("TIME")
   return clock[1] * 1000000 + clock[2]
end

local function milliseconds(now) return math.floor(microseconds(now) / 1000) end

local function whole(n) return string.format("%.0f", tonumber(n)) end
