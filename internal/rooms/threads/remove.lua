-- Takes a member out of a group. With the last member the group ends.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its members, hash
-- KEYS[3]  its messages, stream
-- KEYS[4]  log of the part, stream
-- KEYS[5]  state of the part, hash
-- KEYS[6]  threads to trim, sorted set
-- ARGV[1]  id of the thread
-- ARGV[2]  id of the user who removes
-- ARGV[3]  id of the user who is removed; the same: leaves
-- ARGV[4]  now, in Unix milliseconds; "" for the clock of Redis
-- Returns 0: removed, or was no member
--         2: there is no such thread    3: by is no member    4: by is no owner
--         5: it is no group             6: busy, see log.lua

local thread, members, messages, log, state, trim = unpack(KEYS)
local id, by, user = unpack(ARGV)
local kind, last, count, owners, large, shown, starter, created = unpack(
   redis.call("HMGET", thread, "kind", "last", "members", "owners", "large", "shown", "starter", "created"))
if not kind then return 2 end
if kind ~= "group" then return 5 end
local remover, member = redis.call("HGET", members, by), redis.call("HGET", members, user)
if not remover then return 3 end
if by ~= user and open(remover).role ~= "o" then return 4 end
if not member then return 0 end
if isBusy(state) then return 6 end

local now = milliseconds(ARGV[4])
redis.call("HDEL", members, user)
tell(log, state, now, id, "left", large, last, user, 0, "")
count = count - 1
if count == 0 then
   redis.call("UNLINK", thread, members, messages)
   redis.call("ZREM", trim, id)
   redis.call("ZADD", trim, 0, id .. " " .. created) -- the archive forgets its messages too
   tell(log, state, now, id, "ended", large, last, starter, 0, "")
   return 0
end

-- shown names the participants that joined first. A short list of many members is filled again when it is
-- empty: which ones, does not matter.
local left = {}
for other in string.gmatch(shown, "%d+") do
   if other ~= user then left[#left + 1] = other end
end
if count <= shownMax and #left < count then
   left = redis.call("HKEYS", members)
elseif #left == 0 then
   left = redis.call("HRANDFIELD", members, shownMax)
end
if open(member).role == "o" then owners = owners - 1 end
if tonumber(owners) == 0 then -- the first of them becomes an owner
   local heir = open(redis.call("HGET", members, left[1]))
   heir.role, owners = "o", 1
   redis.call("HSET", members, left[1], close(heir))
end
redis.call("HSET", thread, "members", count, "owners", owners, "shown", table.concat(left, ","))
return 0
