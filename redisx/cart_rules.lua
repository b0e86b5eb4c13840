-- The rules of a cart. Not a script by itself: scripts.go puts it in front of order.lua and cart_check.lua.
-- It defines settle and list.
--
-- A cart begins as the list of all changes that clients asked for: a string of "food:pieces,", perhaps with
-- spaces between. Adding to it is a plain APPEND. The rules turn the list into the contents of the cart,
-- change by change:
-- - a change that would bring the cart above the limit of pieces has no effect;
-- - negative pieces take pieces away, but never below 0;
-- - foods are listed in the order in which they were first added, even if no pieces are left.
--
-- A list that may ask for more than the limit is settled: it becomes a hash. As APPEND fails on a hash, it
-- cannot grow. Its fields are
--   items    the contents of the cart, as a list of changes
--   changes  the list before, with which a late call finds out whether its change had an effect

-- settle(changes, limit) returns: list of food ids, map food id -> pieces, whether the last change had its
-- effect.
local function settle(changes, limit)
  local foods, counts, total, accepted = {}, {}, 0, true
  for food, pieces in string.gmatch(changes, '(%d+):(%-?%d),') do
    local add, had = tonumber(pieces), counts[food]
    local has = math.max((had or 0) + add, 0)
    total = total - (had or 0) + has
    accepted = total <= limit
    if not accepted then
      total = total + (had or 0) - has
    elseif had or add >= 0 then
      if not had then foods[#foods + 1] = food end
      counts[food] = has
    end
  end
  return foods, counts, accepted
end

-- list(foods, counts, least) returns a list of changes that adds all foods with at least that many pieces.
local function list(foods, counts, least)
  local changes = {}
  for _, food in ipairs(foods) do
    if counts[food] >= least then changes[#changes + 1] = string.format('%s:%d,', food, counts[food]) end
  end
  return table.concat(changes)
end
