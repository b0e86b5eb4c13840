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

local function change(cart, food, add)
  local items = call('GET', cart)
  if not items and add > 0 and add <= LIMIT then -- the first piece: what most calls do
    call('SET', cart, food .. ':' .. add, 'EX', lifetime)
    return DONE
  end
  local total, had, changed = 0, nil, {}
  local _, named = string.gsub(items or '', ':', '')
  for id, count in string.gmatch(items or '', '(%d+):(%d)') do
    if id == food then
      had = count
      count = math.max(count + add, 0)
    end
    total = total + count
    if named < REMEMBERED or tonumber(count) > 0 then changed[#changed + 1] = id .. ':' .. count end
  end
  if not had then
    if add <= 0 then return DONE end
    total = total + add
    changed[#changed + 1] = food .. ':' .. add
  end
  if total > LIMIT then return OVER_LIMIT end
  call('SET', cart, table.concat(changed, ','), 'EX', lifetime)
  return DONE
end

local codes = {}
for i = 1, #KEYS do codes[i] = change(KEYS[i], ARGV[2 * i], tonumber(ARGV[2 * i + 1])) end
return codes
