-- GET /foods under load: the read path, answered by a worker without Redis.
--
--   wrk -t2 -c64 -d5s -s scripts/wrk/foods.lua http://127.0.0.1:8080 [-- user password]
--
-- Each thread logs in once, with curl, before the load (default: user2 pass2), so that the load is one ready-made request
-- and wrk need not parse the replies. wrk counts refusals as "Non-2xx".

local function shellQuoted(text)
   return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- logIn returns an access token of the server under load.
local function logIn(user, password)
   local url = ("%s://%s/login"):format(wrk.scheme, wrk.headers["Host"])
   local body = ('{"username":"%s","password":"%s"}'):format(user, password)
   local pipe = assert(io.popen("curl -s -m 5 " .. shellQuoted(url) .. " -d " .. shellQuoted(body)))
   local reply = pipe:read("*a")
   pipe:close()
   local token = reply:match('"access_token":"([^"]+)"')
   return token or error(("cannot log in as %s with curl at %s: %s"):format(user, url, reply))
end

function init(args)
   wrk.path = "/foods"
   wrk.headers["Access-Token"] = logIn(args[1] or "user2", args[2] or "pass2")
end
