-- Shared by the scripts of this folder: calls before the load.

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
   local body = ('{"username":"%s","password":"%s"}'):format(name, password)
   local status, reply = users.try("POST", "/login", {}, body)
   local token = reply:match('"access_token":"([^"]+)"')
   if not token and status ~= 403 then users.fail("cannot log in as %s: %d %s", name, status, reply) end
   return token
end

return users
