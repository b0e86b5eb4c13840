-- Lists the contacts of a user, and which of them have blocked the user.
--
-- KEYS[1]  contacts of the user: hash, user -> blocked and nickname; at most 1000
-- KEYS[2]  who blocked the user: set of users
--
-- Returns three texts for each contact, one after another: the contact; "0" or "1" (blocked) and the
-- nickname;
--         "1" if the contact has blocked the user, else "0"
local contacts, blockers = KEYS[1], KEYS[2]

local rows = {}
local list = redis.call('HGETALL', contacts)
for i = 1, #list, 2 do
  local n = #rows
  rows[n + 1], rows[n + 2] = list[i], list[i + 1]
  rows[n + 3] = tostring(redis.call('SISMEMBER', blockers, list[i]))
end
return rows
