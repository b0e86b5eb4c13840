-- Starts a thread, unless it exists.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its members, hash
-- KEYS[3]  log of the part, stream
-- KEYS[4]  state of the part, hash
-- ARGV[1]  id of the thread
-- ARGV[2]  kind: pair, group, room
-- ARGV[3]  id of the user who starts it; 0 for a room
-- ARGV[4]  1: new members see the messages from before; 0: they do not
-- ARGV[5]  members of a group that is not large, most
-- ARGV[6]  now, in Unix milliseconds; "" for the clock of Redis
-- ARGV     then the ids of all members, the starter first; at most ParticipantsMax + 1
-- Returns 0: started, 1: the thread exists, 6: busy, see log.lua

local thread, members, log, state = unpack(KEYS)
local id, kind, starter, history, fanout = unpack(ARGV)
if redis.call("EXISTS", thread) == 1 then return 1 end
if isBusy(state, joinMax) then return 6 end
local now, count = milliseconds(ARGV[6]), #ARGV - 6
local large = ""
if count > tonumber(fanout) then large = "1" end
local shown = {}
for i = 7, #ARGV do
   local role = "m"
   if kind == "group" and i == 7 then role = "o" end
   redis.call("HSET", members, ARGV[i], role .. ":0:0:0:")
   if #shown < shownMax then shown[#shown + 1] = ARGV[i] end
end
redis.call("HSET", thread, "kind", kind, "created", whole(now), "updated", whole(now), "last", 0, "first", 1,
   "members", count, "owners", 1, "large", large, "history", history, "shown", table.concat(shown, ","),
   "starter", starter)
for i = 7, #ARGV do tell(log, state, now, id, "joined", large, 0, ARGV[i], 0, "") end
return 0
