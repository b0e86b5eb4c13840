-- POST /repeats under load: one popular text and many rare ones, in turns. The server needs
-- -repeats and -limits "message by user unlimited; message by ip unlimited".
--
--   wrk -t2 -c64 -d5s -s scripts/wrk/repeats.lua http://127.0.0.1:8080 [-- user password texts]
--
-- Each thread logs in once, with curl, before the load (default: user2 pass2), and draws the rare texts from
-- that many (default: 100000). If the server refuses the user or a first text, wrk ends before the load.

local users = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "users.lua")
local texts, popular = 0, false

function init(args)
   local name, password = args[1] or "user2", args[2] or "pass2"
   texts = tonumber(args[3] or 100000)
   if not texts or texts < 1 then users.fail("texts must be a number from 1 on") end
   wrk.headers["Access-Token"] = users.logIn(name, password)
      or users.fail("the server refuses the login of %s", name)
   local status, reply = users.try("POST", "/repeats", wrk.headers, '{"text":"popular"}')
   if status == 404 then users.fail("the server has no /repeats; start it with -repeats") end
   if status ~= 200 then users.fail("the server refuses POST /repeats: %d %s", status, reply) end
end

function request()
   popular = not popular
   local text = popular and "popular" or "rare " .. math.random(texts)
   return wrk.format("POST", "/repeats", nil, ('{"text":"%s"}'):format(text))
end
