-- The time of a call: an argument, or the clock of Redis where that is "". This is a part of scripts, see
-- scripts.go.

local function milliseconds(now)
   if now ~= "" then return tonumber(now) end
   local clock = redis.call("TIME")
   return clock[1] * 1000 + math.floor(clock[2] / 1000)
end
