-- GET /foods under load: the read path, answered by a worker without Redis.
--
--   wrk -t2 -c64 -d5s -s scripts/wrk/foods.lua http://127.0.0.1:8080 [-- user password]
--
-- Each thread logs in once, with curl, before the load (default: user2 pass2), so that the load is one
-- ready-made request and wrk need not parse the replies. wrk counts refusals as "Non-2xx".

local users = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "users.lua")

function init(args)
   local name, password = args[1] or "user2", args[2] or "pass2"
   wrk.path = "/foods"
   wrk.headers["Access-Token"] = users.logIn(name, password)
      or users.fail("the server refuses the login of %s", name)
end
