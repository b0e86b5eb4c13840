-- Shared by the scripts of this folder: logins before the load, and the range of users.

local users = {}

-- fail ends wrk with a message.
function users.fail(message, ...)
   io.stderr:write("wrk: " .. message:format(...) .. "\n")
   os.exit(1)
end

local function shellQuoted(text)
   return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- try returns the status and the body of the reply to one call before the load; no answer ends wrk. curl
-- gets the headers in a file, because other users can see its arguments.
function users.try(method, path, headers, body)
   local url = ("%s://%s%s"):format(wrk.scheme, wrk.headers["Host"], path)
   local name = os.tmpname()
   local config = assert(io.open(name, "w"))
   for header, value in pairs(headers) do
      config:write(('header = "%s: %s"\n'):format(header, (value:gsub('[\\"]', "\\%0"))))
   end
   config:close()
   local command = "curl -sk -m 5 -X %s -K %s -w '\\n%%{http_code}' %s -d %s"
   local pipe = assert(io.popen(command:format(method, name, shellQuoted(url), shellQuoted(body))))
   local reply = pipe:read("*a")
   pipe:close()
   os.remove(name)
   local text, status = reply:match("^(.*)\n(%d+)$")
   if not text or status == "000" then users.fail("no answer from %s with curl", url) end
   return tonumber(status), text
end

-- logIn returns an access token of the server under load, nil after a refusal; no answer ends wrk.
function users.logIn(name, password)
   local url = ("%s://%s/login"):format(wrk.scheme, wrk.headers["Host"])
   local body = ('{"username":"%s","password":"%s"}'):format(name, password)
   local pipe = assert(io.popen("curl -sk -m 5 " .. shellQuoted(url) .. " -d " .. shellQuoted(body)))
   local reply = pipe:read("*a")
   pipe:close()
   local token = reply:match('"access_token":"([^"]+)"')
   if not token and not reply:find('"USER_AUTH_FAIL"', 1, true) then
      users.fail("cannot log in as %s with curl at %s: %s", name, url, reply)
   end
   return token
end

local function exists(id) return users.logIn("user" .. id, "pass" .. id) end

-- range reads the first and the last id of the built-in users to take (default: 2 10000). It logs in as
-- both: if the server does not have these users, wrk names the wrong ids and ends before the load.
function users.range(args)
   local first, last = tonumber(args[1] or 2), tonumber(args[2] or 10000)
   if not (first and last and 1 < first and first <= last and first % 1 == 0 and last % 1 == 0) then
      users.fail("first-user and last-user must be ids from 2 on, in this order")
   end
   if exists(last) and exists(first) then return first, last end
   if not exists(first) then
      users.fail("the server refuses the login of id %d, the first of %d to %d " ..
         "(name user%d, password pass%d)", first, first, last, first, first)
   end
   local known, refused = first, last
   while refused - known > 1 do
      local middle = math.floor((known + refused) / 2)
      if exists(middle) then known = middle else refused = middle end
   end
   users.fail("the server refuses the login of ids %d to %d; give first and last up to %d behind --",
      refused, last, known)
end

local rangesMax = 20

-- ranges writes a set of ids, the keys of a table, as "3-7, 9", its first rangesMax parts.
function users.ranges(set)
   local ids, parts = {}, {}
   for id in pairs(set) do ids[#ids + 1] = id end
   table.sort(ids)
   for i, id in ipairs(ids) do
      if ids[i - 1] ~= id - 1 then parts[#parts + 1] = { id } end
      parts[#parts][2] = id
   end
   for i, part in ipairs(parts) do
      parts[i] = part[1] == part[2] and tostring(part[1]) or part[1] .. "-" .. part[2]
   end
   local more = #parts > rangesMax and (" and more, up to %d"):format(ids[#ids]) or ""
   return table.concat(parts, ", ", 1, math.min(#parts, rangesMax)) .. more
end

return users
