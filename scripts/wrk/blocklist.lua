-- POST /blocklist/check under load, with 500 documents in each request.
--
--   wrk -t1 -c8 -d5s --latency -s scripts/wrk/blocklist.lua http://127.0.0.1:8080 [-- user password]
--
-- The documents are random, so most of them are not listed. If the server refuses the user, wrk ends before
-- the load. A server without a blocklist answers 404.

local users = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "users.lua")
local documents, bodies = 500, 64
local requests, at = {}, 0

local function body()
   local lines = {}
   for i = 1, documents do
      lines[i] = ("%04d,%06d\n"):format(math.random(0, 9999), math.random(0, 999999))
   end
   return table.concat(lines)
end

function init(args)
   local name, password = args[1] or "user2", args[2] or "pass2"
   local token = users.logIn(name, password)
   if not token then users.fail("the server refuses the login of %s", name) end
   for i = 1, bodies do
      local headers = { ["Access-Token"] = token, ["Content-Type"] = "text/csv" }
      requests[i] = wrk.format("POST", "/blocklist/check", headers, body())
   end
end

function request()
   at = at % bodies + 1
   return requests[at]
end
