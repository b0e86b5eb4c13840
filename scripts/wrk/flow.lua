-- The contest's whole flow: login, food list, cart, one to three adds of one piece, order; each order by
-- another user.
--
--   wrk -t2 -c64 -d5s -s scripts/wrk/flow.lua http://127.0.0.1:8080 [-- first-user last-user]
--
-- Users are given by id (default: 2 10000, all of the built-in catalogue but root). The threads draw them
-- from one counter, so each user goes to one thread. A user buys once, so the next run needs other users or
-- a new sale. Unknown ids end wrk before the load; ids with an earlier order are named after the load.
--
-- How a flow goes on. wrk tells response() neither the connection nor the request, and a thread has many
-- connections. So a flow belongs to its thread, not to a connection: a user with an answer waits in the
-- queue of the next step, and the next free connection sends it. The user of a reply comes
--   - from the reply itself: a login's has the user id, a cart ID begins with it;
--   - from nowhere for the food list and the adds. These go out in waves: a wave takes the waiting users,
--     closes when no user waits, and its last reply lets all of its users go on.
-- So no step of a user is sent before the one before it was answered.
-- With as many threads as connections (-t64 -c64) each flow is alone on its connection.
--
-- Limits:
--   - names and passwords of the built-in catalogue only; carts only of a server that puts the user id into
--     the cart ID;
--   - a refused request ends its flow, without a retry; an error does not name its step, so it is counted by
--     code only;
--   - a wave that misses replies (lost connections, errors) lets its users go on after waveSeconds;
--   - when the users run out the threads end: orders/s counts up to the last order, wrk's Requests/sec to
--     the end of -d; until the last replies are in, idle connections send GET /healthz, counted as such;
--   - no audit: scripts/bench audit checks the sale afterwards.

local waveSeconds = 2

local logins = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "users.lua")
local ffi = require("ffi")
ffi.cdef [[
typedef struct { long seconds, nanoseconds; } flow_time;
int clock_gettime(int clock, flow_time *now);
typedef struct { char mutex[64]; int drawn; } flow_counter;
void *calloc(size_t count, size_t size);
int pthread_mutex_lock(void *mutex);
int pthread_mutex_unlock(void *mutex);
]]
local monotonic, instant = 1, ffi.new("flow_time")

local function now()
   ffi.C.clock_gettime(monotonic, instant)
   return tonumber(instant.seconds) + tonumber(instant.nanoseconds) / 1e9
end

-- Globals, as setup and done reach them from outside the threads.
number, counterAddress = 0, 0  -- of this thread, from 1; of the counter that all threads draw users from
counts = {}                    -- replies by status and step or code
began, lastOrder, orders = 0, 0, 0
outOfUsers = false
unsold = {}                    -- users without an id for the order that they sent, by id

local threads, counter = {}, nil

-- Memory is shared by its address: wrk starts each thread before it sets up the next, so none knows how many
-- there will be. Zeroed memory is an unlocked mutex on Linux.
function setup(thread)
   counter = counter or ffi.C.calloc(1, ffi.sizeof("flow_counter"))
   threads[#threads + 1] = thread
   thread:set("number", #threads)
   thread:set("counterAddress", tonumber(ffi.cast("uintptr_t", counter)))
end

local firstUser, lastUser

-- drawUser returns the id of an unused user, nil when all are used.
local function drawUser()
   if outOfUsers then return nil end
   ffi.C.pthread_mutex_lock(counter.mutex)
   local id = firstUser + counter.drawn
   outOfUsers = id > lastUser
   if not outOfUsers then counter.drawn = counter.drawn + 1 end
   ffi.C.pthread_mutex_unlock(counter.mutex)
   if not outOfUsers then return id end
end

local users = {}               -- by id, from login to cart; a user is {headers, adds to go, cart}
local unanswered = 0           -- requests of flows
local foodsTotal
local queues = {}              -- by step: users who may take it, first come first served
for _, step in ipairs { "foods", "cart", "add", "order" } do
   queues[step] = { head = 1, tail = 0 }
end

local function push(step, user)
   local queue = queues[step]
   queue.tail = queue.tail + 1
   queue[queue.tail] = user
end

local function pop(step)
   local queue = queues[step]
   local user = queue[queue.head]
   if user then
      queue[queue.head] = nil
      queue.head = queue.head + 1
   end
   return user
end

-- A wave holds the users of one step whose replies cannot be told apart; after lets a user go on.
local function wave(after) return { users = {}, unanswered = 0, open = true, after = after } end

local waves = {
   foods = wave(function(user) push("cart", user) end),
   add = wave(function(user)
      user.adds = user.adds - 1
      push(user.adds > 0 and "add" or "order", user)
   end),
}

local function release(wave)
   local users = wave.users
   wave.users, wave.unanswered, wave.open = {}, 0, true
   for _, user in ipairs(users) do wave.after(user) end
end

local function answerWave(wave)
   wave.unanswered = wave.unanswered - 1
   if wave.unanswered <= 0 then release(wave) end
end

-- nextOf takes the next user of a step, nil when no user may take the step now.
local function nextOf(step)
   local wave = waves[step]
   if not wave then return pop(step) end
   if #wave.users > 0 and now() - wave.since > waveSeconds then release(wave) end
   local user = wave.open and pop(step)
   if not user then
      wave.open = #wave.users == 0
      return nil
   end
   if #wave.users == 0 then wave.since = now() end
   wave.users[#wave.users + 1] = user
   wave.unanswered = wave.unanswered + 1
   return user
end

local function orderRequest(user)
   unsold[user.id] = true
   return wrk.format("POST", "/orders", user.headers, ('{"cart_id":"%s"}'):format(user.cart))
end

local function addRequest(user)
   local body = ('{"food_id":%d,"count":1}'):format(math.random(foodsTotal))
   return wrk.format("PATCH", "/carts/" .. user.cart, user.headers, body)
end

local function cartRequest(user) return wrk.format("POST", "/carts", user.headers) end

local function foodsRequest(user) return wrk.format("GET", "/foods", user.headers) end

local function loginRequest()
   local id = drawUser()
   local body = id and ('{"username":"user%d","password":"pass%d"}'):format(id, id)
   return id and wrk.format("POST", "/login", nil, body)
end

-- Flows under way come before new flows, so that only as many are under way as the connections need.
local steps = {
   { "order", orderRequest }, { "add", addRequest }, { "cart", cartRequest }, { "foods", foodsRequest },
}

local function flowRequest()
   for _, step in ipairs(steps) do
      local user = nextOf(step[1])
      if user then return step[2](user) end
   end
   return loginRequest()
end

function init(args)
   firstUser, lastUser = logins.range(args)
   counter = ffi.cast("flow_counter *", counterAddress)
   math.randomseed(number)
end

local probed = false

function request()
   -- wrk asks the first thread for one request that it never sends, to see the number that it pipelines.
   if number == 1 and not probed then
      probed = true
      return wrk.format("GET", "/healthz")
   end
   if began == 0 then began = now() end
   local text = flowRequest()
   if text then
      unanswered = unanswered + 1
      return text
   end
   if unanswered == 0 then wrk.thread:stop() end
   return wrk.format("GET", "/healthz")
end

local alphabet = {}            -- of base64url: value by byte
local letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
for value, letter in ipairs { letters:byte(1, 64) } do
   alphabet[letter] = value - 1
end

-- ownerOf reads the user id out of a cart ID: its first 32 bits, which are five letters and two bits of the
-- sixth.
local function ownerOf(cart)
   local id = 0
   for i = 1, 5 do
      id = id * 64 + (alphabet[cart:byte(i)] or 0)
   end
   return id * 4 + math.floor((alphabet[cart:byte(6)] or 0) / 16)
end

-- The effect of a reply on its flow, by the first field of its body; each returns the name that is counted.
local replies = {}

function replies.user_id(body)
   local id, token = body:match('"user_id":(%d+)'), body:match('"access_token":"([^"]+)"')
   local user = { headers = { ["Access-Token"] = token }, adds = math.random(3) }
   users[tonumber(id)] = user
   push("foods", user)
   return "login"
end

function replies.cart_id(body)
   local cart = body:match('"cart_id":"([^"]+)"')
   local id = ownerOf(cart)
   local user = users[id]
   if not user then return "cart of nobody under way" end
   user.cart, user.id, users[id] = cart, id, nil
   push("add", user)
   return "cart"
end

function replies.id(body)
   orders, lastOrder = orders + 1, now()
   local id = body:match('%-(%d+)"}')  -- the user's, with which the server's order ids end
   if id then unsold[tonumber(id)] = nil end
   return "order"
end

function replies.code(body) return body:match('"code":"([^"]*)"') end

local function settle(status, body)
   if status == 204 then
      answerWave(waves.add)
      return "add"
   end
   if status == 200 and body:sub(1, 1) == "[" then
      foodsTotal = foodsTotal or select(2, body:gsub('"id":', ""))
      answerWave(waves.foods)
      return "foods"
   end
   local reply = replies[body:match('^{"([%w_]+)"')]
   return reply and reply(body)
end

function response(status, _, body)
   local name = settle(status, body)
   if name then unanswered = unanswered - 1 end
   local key = status .. " " .. (name or "healthz")
   counts[key] = (counts[key] or 0) + 1
end

function done()
   local total, without, placed, first, last, ranOut = {}, {}, 0, math.huge, 0, false
   for _, thread in ipairs(threads) do
      for key, count in pairs(thread:get("counts")) do
         total[key] = (total[key] or 0) + count
      end
      for id in pairs(thread:get("unsold")) do without[id] = true end
      placed = placed + thread:get("orders")
      if thread:get("orders") > 0 then
         first, last = math.min(first, thread:get("began")), math.max(last, thread:get("lastOrder"))
      end
      ranOut = ranOut or thread:get("outOfUsers")
   end
   local keys = {}
   for key in pairs(total) do keys[#keys + 1] = key end
   table.sort(keys)
   print("Replies by status and step or code:")
   for _, key in ipairs(keys) do print(("  %-32s %9d"):format(key, total[key])) end
   local seconds = math.max(last - first, 0)
   local rate = placed > 0 and placed / seconds or 0
   print(("Orders placed: %d in %.2fs, orders/s: %.2f"):format(placed, seconds, rate))
   if total["403 ORDER_OUT_OF_LIMIT"] then
      print("Users who got no order now, most of whom had one before: " .. logins.ranges(without))
   end
   if ranOut then print("The users ran out; a longer run needs a larger catalogue.") end
end
