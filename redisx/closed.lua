-- is_closed(marker) returns whether the sale of a marker is closed at this moment: by hand, or because its
-- time is over. This is no script by itself: Go puts it before next_begin.lua and export.lua.
local function is_closed(marker)
  local fields = redis.call('HMGET', marker, 'closed', 'closes_at')
  if fields[1] then return true end
  local now = redis.call('TIME')
  return fields[2] and tonumber(fields[2]) <= now[1] * 1000 + math.floor(now[2] / 1000)
end
