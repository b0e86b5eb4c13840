-- POST /limits/check under load: decisions on an event of the server's rules, for one user after the other.
--
-- SERVICE_TOKEN=... wrk -t2 -c64 -d5s -s scripts/wrk/limits.lua http://127.0.0.1:8080 [-- event users]
--
-- The event (default: order) needs a rule by user, as of -limits "order by user 1000000/m". The users
-- (default: 1000) are names that only the limits know. wrk counts a 429 as an error; done prints the number.
-- If the server refuses the token, or has no rule for the event, wrk ends before the load.

local shared = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "users.lua")
local event, users, user, token = "order", 1000, 0, os.getenv("SERVICE_TOKEN") or ""
local headers = { ["Authorization"] = "Bearer " .. token }

refused, failed = 0, 0

local threads = {}

function setup(thread) threads[#threads + 1] = thread end

local function body(cost)
   return ('{"event":"%s","features":{"user":"load-%d"},"cost":%d}'):format(event, user, cost)
end

function init(args)
   event = args[1] or event
   users = tonumber(args[2]) or users
   if token == "" then shared.fail("set SERVICE_TOKEN to the token of -service-token") end
   local status, reply = shared.try("POST", "/limits/check", headers, body(0)) -- which counts nothing
   if status ~= 200 then
      shared.fail("the server refuses POST /limits/check of the event %s: %d %s", event, status, reply)
   end
end

function request()
   user = user % users + 1
   return wrk.format("POST", "/limits/check", headers, body(1))
end

function response(status)
   if status == 429 then
      refused = refused + 1
   elseif status ~= 200 then
      failed = failed + 1
   end
end

function done()
   local all, bad = 0, 0
   for _, thread in ipairs(threads) do
      all, bad = all + thread:get("refused"), bad + thread:get("failed")
   end
   print(("decisions that refused: %d, failed calls: %d"):format(all, bad))
end
