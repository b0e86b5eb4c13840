-- Adds pieces of one food to a cart, or takes them away; any number of such changes, one after the other.
--
-- KEYS[i]             of change i: the cart: string "food:count,food:count" in the order of first add; a count of
--                     0 stays, for the order, until the cart names REMEMBERED foods: then those are forgotten
-- ARGV[1]             lifetime of a cart after its last change: seconds > 0
-- ARGV[2i], [2i+1]    of change i: food id: integer > 0; pieces to add: integer, negative takes away, a food
--                     never falls below 0
--
-- Returns for each change
--         0  done
--         1  the cart would hold more than three pieces: nothing is changed
local DONE, OVER_LIMIT, LIMIT, REMEMBERED = 0, 1, 3, 32
local call, lifetime = redis.call, ARGV[1]

-- pieces stays the string it came as where it can: Lua formats a number as a floating point one, which is slow.
local function change(cart, food, pieces)
  local add, items = tonumber(pieces), call('GET', cart)
  if not items then
    if add > LIMIT then return OVER_LIMIT end
    if add > 0 then call('SET', cart, food .. ':' .. pieces, 'EX', lifetime) end
    return DONE
  end

  local total, had, named = add, nil, 0
  for id, count in string.gmatch(items, '(%d+):(%d)') do
    total, named = total + count, named + 1
    if id == food then had = count end
  end
  if not had then
    if total > LIMIT then return OVER_LIMIT end
    if add <= 0 then return DONE end
    if named >= REMEMBERED then items = string.gsub(items, '%d+:0,?', '') end
    if items ~= '' and string.sub(items, -1) ~= ',' then items = items .. ',' end
    items = items .. food .. ':' .. pieces
  else
    local has = math.max(had + add, 0)
    if total - had - add + has > LIMIT then return OVER_LIMIT end
    items = string.sub(string.gsub(',' .. items, ',' .. food .. ':%d', string.format(',%s:%d', food, has)), 2)
  end
  call('SET', cart, items, 'EX', lifetime)
  return DONE
end

local codes = {}
for i = 1, #KEYS do codes[i] = change(KEYS[i], ARGV[2 * i], ARGV[2 * i + 1]) end
return codes
