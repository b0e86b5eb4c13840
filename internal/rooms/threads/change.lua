-- Changes a member's view of a thread.
--
-- KEYS[1]  thread, hash
-- KEYS[2]  its members, hash
-- ARGV[1]  id of the user
-- ARGV[2]  muted: 1 or 0; "" leaves it
-- ARGV[3]  "=" and the nickname; "" leaves it
-- ARGV[4]  up to this message the user has read; "" leaves it
-- Returns 0: changed, 2: there is no such thread, 3: the user is no member

local thread, members = unpack(KEYS)
local user, muted, nickname, read = unpack(ARGV)
local last = redis.call("HGET", thread, "last")
if not last then return 2 end
local member = redis.call("HGET", members, user)
if not member then return 3 end
local m = open(member)
if muted ~= "" then m.muted = muted end
if nickname ~= "" then m.nickname = string.sub(nickname, 2) end
if read ~= "" then m.read = whole(math.max(tonumber(m.read), math.min(tonumber(read), tonumber(last)))) end
redis.call("HSET", members, user, close(m))
return 0
