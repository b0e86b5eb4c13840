-- The log of a part: what others must see. This is a part of scripts, see scripts.go; it stands behind
-- clock.lua.
--
-- An entry <n>-0 has the fields t (the thread), h ("event:large:message:user:milliseconds:until") and, for a
-- message that was stored, c (its content). n grows by 1. After a loss of Redis it goes on from the clock,
-- far above all that was before: at most 1000 entries a millisecond are written.
local logMax, waitMax = 50000, 40000 -- as logMax and waitMax in keys.go

-- isBusy reports whether so much of the log waits for the keeper that nothing more may be written: the trim
-- below would cut entries that the members' lists still need. New members may take only half of that: a
-- start has up to 201 of them, and a flood of starts must not keep messages out.
local function isBusy(state, most)
   local found = redis.call("HMGET", state, "log", "done")
   return found[1] and tonumber(found[1]) - tonumber(found[2]) >= (most or waitMax)
end
local joinMax = waitMax / 2

-- tell writes an entry.
local function tell(log, state, now, thread, event, large, message, user, rest, content)
   local n = redis.call("HINCRBY", state, "log", 1)
   if n == 1 then
      n = now * 1000
      local before = whole(n - 1)
      redis.call("HSET", state, "log", whole(n), "done", before, "cut", before, "marked", whole(now))
   end
   local head = event .. ":" .. (large or "") .. ":" .. whole(message) .. ":" .. user .. ":" .. whole(now) ..
      ":" .. whole(rest)
   redis.call("XADD", log, "MAXLEN", "~", logMax, whole(n) .. "-0", "t", thread, "h", head, "c", content)
end
