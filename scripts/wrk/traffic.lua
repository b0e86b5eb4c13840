-- POST /traffic/hit under load: one popular key and many rare ones, in turns.
--
--   wrk -t2 -c64 -d5s -s scripts/wrk/traffic.lua http://127.0.0.1:8080 -- root password [keys]
--
-- Each thread logs in once, with curl, before the load, as root: the call is for root and for programs. It
-- draws the rare keys from that many (default: 5000). wrk counts refusals as "Non-2xx".

local users = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "users.lua")
local keys, popular = 0, false

function init(args)
   local name, password = args[1] or "root", args[2] or users.fail("give the password of root behind --")
   keys = tonumber(args[3] or 5000)
   if not keys or keys < 1 then users.fail("keys must be a number from 1 on") end
   wrk.headers["Access-Token"] = users.logIn(name, password)
      or users.fail("the server refuses the login of %s", name)
end

function request()
   popular = not popular
   local key = popular and "popular" or "rare " .. math.random(keys)
   return wrk.format("POST", "/traffic/hit", nil, ('{"key":"%s"}'):format(key))
end
