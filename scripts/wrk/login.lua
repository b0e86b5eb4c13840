-- POST /login under load, by one built-in user after the other.
--
--   wrk -t2 -c64 -d5s -s scripts/wrk/login.lua http://127.0.0.1:8080 [-- first-user last-user]
--
-- Users are given by id (default: 2 10000, all of the built-in catalogue but root); from the last one it
-- starts over. A login changes nothing on the server, so threads share the users. Ids that the server
-- refuses end wrk before the load.

local users = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "users.lua")
local firstUser, lastUser, user

function init(args)
   firstUser, lastUser = users.range(args)
   user = firstUser - 1
end

function request()
   user = user < lastUser and user + 1 or firstUser
   return wrk.format("POST", "/login", nil, ('{"username":"user%d","password":"pass%d"}'):format(user, user))
end
