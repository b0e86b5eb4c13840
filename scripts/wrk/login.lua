-- POST /login under load, by one built-in user after the other.
--
--   wrk -t2 -c64 -d5s -s scripts/wrk/login.lua http://127.0.0.1:8080 [-- first-user last-user]
--
-- Users are given by id (default: 2 10000, all of the built-in catalogue but root); from the last one it
-- starts over. A login changes nothing on the server, so threads share the users. If the server refuses the
-- first or the last id, wrk ends before the load.

local users = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "users.lua")
local firstUser, lastUser, user

function init(args)
   firstUser, lastUser = tonumber(args[1] or 2), tonumber(args[2] or 10000)
   if not (firstUser and lastUser and 1 < firstUser and firstUser <= lastUser) then
      users.fail("first-user and last-user must be ids from 2 on, in this order")
   end
   for _, id in ipairs { firstUser, lastUser } do
      if not users.logIn("user" .. id, "pass" .. id) then
         users.fail("the server refuses the login of id %d (name user%d, password pass%d)", id, id, id)
      end
   end
   user = firstUser - 1
end

function request()
   user = user < lastUser and user + 1 or firstUser
   return wrk.format("POST", "/login", nil, ('{"username":"user%d","password":"pass%d"}'):format(user, user))
end
