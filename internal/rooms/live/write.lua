-- Adds the last second of a server to the figures of all servers.
--
-- KEYS[1] figures  hash of texts, each the figures of a time:
--                    current         the second that servers add to
--                    <step>:<place>  a bucket of so many seconds, in the ring of its tier
--                    all             the whole sale
-- KEYS[2] servers  hash, by server: what it had counted in all at its last second
-- KEYS[3] seen     sorted set of the servers, by their last second
-- ARGV[1] server      its name
-- ARGV[2] first       "1" while no call of the server has been answered, else ""
-- ARGV[3] counted     the text of what it has counted since it began to serve the sale
-- ARGV[4] orders      of the sale so far, by all servers; "" where that is not known
-- ARGV[5] connections of the server, open
-- ARGV[6] still       "1": nothing happens any more, the curve stays as it is; else ""
-- ARGV[7] kept        how long the keys stay, seconds
-- ARGV[8] servers     how many may be in the set
-- ARGV[9] now         Unix milliseconds, "" for the clock of Redis
-- ARGV[10] ...        the tiers: the seconds of a bucket and the number of buckets, of one after the other
--
-- A text is name=number with blanks between: t (the first second, Unix time; of the whole sale the last
-- one), orders (of the sale at the end), peak (orders in one second), connections, servers (that have
-- added) and servers_of (those that were there), the error replies by code, and 0 to 15 for the calls by
-- the bucket of the time that they took. The whole sale also has since (its first second) and before (the
-- orders at that).
--
-- Returns the time in Unix milliseconds. A server that is called again within a second adds what is new.
local figures, servers, seen = KEYS[1], KEYS[2], KEYS[3]
local server, first, counted, orders = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local connections, still, kept, serversMax = tonumber(ARGV[5]), ARGV[6] == "1", ARGV[7], tonumber(ARGV[8])
local tiersAt = 10
local call = redis.call

local AWAY = 10 -- seconds after which a server does not belong to the set any more
local LATE = 3 -- seconds that may count as one; what took longer is no second's, but the sale's

-- These are not summed up.
local largest = {t = true, orders = true, peak = true, connections = true, servers = true, servers_of = true}

local function read(text)
  local f = {}
  for name, n in string.gmatch(text or "", "(%S+)=(%d+)") do f[name] = tonumber(n) end
  return f
end

local function write(field, f)
  local parts = {}
  for name, n in pairs(f) do parts[#parts + 1] = name .. "=" .. string.format("%d", n) end
  call("HSET", figures, field, table.concat(parts, " "))
end

local function larger(f, name, n)
  if n and n > (f[name] or -1) then f[name] = n end
end

-- add adds a second to a longer time: of the servers it keeps the second in which most were missing.
local function add(f, second)
  for name, n in pairs(second) do
    if not largest[name] then f[name] = (f[name] or 0) + n end
  end
  larger(f, "orders", second.orders)
  larger(f, "peak", second.peak)
  larger(f, "connections", second.connections)
  local missing = (second.servers_of or 0) - (second.servers or 0)
  if not f.servers or missing > f.servers_of - f.servers then
    f.servers, f.servers_of = second.servers, second.servers_of
  end
end

-- finish adds a second that is over to the buckets and to the whole sale.
local function finish(second, all)
  if all.t == second.t - 1 and all.orders and second.orders then
    second.peak = math.max(second.orders - all.orders, 0)
  end
  for i = tiersAt, #ARGV, 2 do
    if still then break end
    local step, places = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
    local number = math.floor(second.t / step)
    local field = string.format("%d:%d", step, number % places)
    local f = read(call("HGET", figures, field))
    if f.t ~= number * step then f = {t = number * step} end
    add(f, second)
    write(field, f)
  end
  add(all, second)
  all.t = second.t
  all.since, all.before = all.since or second.t, all.before or second.orders or 0
end

local now = tonumber(ARGV[9])
if not now then
  local clock = call("TIME")
  now = clock[1] * 1000 + math.floor(clock[2] / 1000)
end
local t = math.floor(now / 1000) - 1

local found = call("HMGET", figures, "current", "all")
local current, all = read(found[1]), read(found[2])
if current.t ~= t then
  if current.t then finish(current, all) end
  current = {t = t}
end

local last = call("ZSCORE", seen, server)
last = last and tonumber(last)
local late = last and t - last > LATE
local whole = read(counted)
local before = call("HGET", servers, server)
if before then
  before = read(before)
else
  before = first == "1" and {} or whole
end
for name, n in pairs(whole) do
  local more = n - (before[name] or 0)
  local into = late and all or current
  if more > 0 then into[name] = (into[name] or 0) + more end
end
call("HSET", servers, server, counted)
call("ZADD", seen, t, server)
if call("ZCARD", seen) > serversMax then
  local oldest = call("ZRANGE", seen, 0, 0)[1]
  call("ZREM", seen, oldest)
  call("HDEL", servers, oldest)
end

larger(current, "orders", orders)
if last ~= t and not late then
  current.servers = (current.servers or 0) + 1
  current.connections = (current.connections or 0) + connections
end
current.servers_of = math.max(call("ZCOUNT", seen, t - AWAY, "+inf"), current.servers or 0)
write("current", current)
write("all", all)
for _, key in ipairs(KEYS) do call("EXPIRE", key, kept) end
return now
