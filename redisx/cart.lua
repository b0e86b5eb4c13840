-- Adds pieces of one food to a cart, or takes them away.
--
-- KEYS[1]  the cart: string "food:count,food:count" in the order of first add; a count of 0 stays, for the order
-- ARGV[1]  food id: integer > 0
-- ARGV[2]  pieces to add: integer; negative takes away, a food never falls below 0
-- ARGV[3]  lifetime of the cart after this change: seconds > 0
--
-- Returns 0  done
--         1  the cart would hold more than three pieces: nothing is changed
local cart, food, add, lifetime = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local DONE, OVER_LIMIT, LIMIT = 0, 1, 3

local total, had, items = 0, nil, ''
for id, count in string.gmatch(redis.call('GET', cart) or '', '(%d+):(%d)') do
  count = tonumber(count)
  if id == food then
    had = count
    count = math.max(count + add, 0)
  end
  total = total + count
  items = items .. id .. ':' .. count .. ','
end
if not had then
  if add <= 0 then return DONE end
  total = total + add
  items = items .. food .. ':' .. add .. ','
end
if total > LIMIT then return OVER_LIMIT end
redis.call('SET', cart, string.sub(items, 1, -2), 'EX', lifetime)
return DONE
