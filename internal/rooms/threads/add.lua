-- Makes a user a member of a group, or gives a member another role.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its members, hash
-- KEYS[3]  log of the part, stream
-- KEYS[4]  state of the part, hash
-- ARGV[1]  id of the thread
-- ARGV[2]  id of the user who adds
-- ARGV[3]  id of the user who is added
-- ARGV[4]  role: o or m
-- ARGV[5]  members of a group that is not large, most
-- ARGV[6]  members of a group, most
-- ARGV[7]  now, in Unix milliseconds; "" for the clock of Redis
-- Returns 0: added, or was a member and has the role now
--         2: there is no such thread    3: by is no member    4: by is no owner
--         5: it is no group             6: busy, see log.lua  7: the group is full
--         8: the last owner stays an owner

local thread, members, log, state = unpack(KEYS)
local id, by, user, role, fanout, most = unpack(ARGV)
local kind, last, count, owners, large, shown = unpack(
   redis.call("HMGET", thread, "kind", "last", "members", "owners", "large", "shown"))
if not kind then return 2 end
if kind ~= "group" then return 5 end
local adder = redis.call("HGET", members, by)
if not adder then return 3 end
if open(adder).role ~= "o" then return 4 end

local member = redis.call("HGET", members, user)
if member then
   local m = open(member)
   if m.role == role then return 0 end
   if role == "o" then
      owners = owners + 1
   elseif tonumber(owners) == 1 then
      return 8
   else
      owners = owners - 1
   end
   m.role = role
   redis.call("HSET", members, user, close(m))
   redis.call("HSET", thread, "owners", owners)
   return 0
end

if isBusy(state, joinMax) then return 6 end
count = count + 1
if count > tonumber(most) then return 7 end
local now = milliseconds(ARGV[7])
if role == "o" then owners = owners + 1 end
local _, commas = string.gsub(shown, ",", "")
if commas + 1 < shownMax then shown = shown .. "," .. user end
local new = { role = role, joined = last, read = last, muted = 0, nickname = "" }
redis.call("HSET", members, user, close(new))
if large == "" and count > tonumber(fanout) then
   large = "1"
   tell(log, state, now, id, "grown", large, 0, 0, 0, "")
end
redis.call("HSET", thread, "members", count, "owners", owners, "large", large, "shown", shown)
tell(log, state, now, id, "joined", large, last, user, 0, "")
return 0
