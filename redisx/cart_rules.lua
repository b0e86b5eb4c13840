-- The rules of a cart. This is no script by itself: scripts.go puts it in front of order.lua and
-- cart_check.lua. It names settle and list.
--
-- A cart begins as the list of all changes that were asked of it: a string with "food:pieces," for each,
-- and perhaps spaces between them. Adding to it is then a plain APPEND. What the list amounts to is
-- worked out here, change by change in their order:
-- - a change that would bring the cart above the limit of pieces has no effect;
-- - negative pieces take away, and a food never falls below 0;
-- - foods are listed in the order in which they were first added, also when none is left.
--
-- A list that may ask for more than the limit is settled: it becomes a hash, and as nothing can be
-- appended to a hash, it does not grow. Its fields are
--   items    what the cart amounts to, as a list of changes
--   changes  the list as it was, by which a late call finds out what became of its change

-- settle(changes, limit) returns: list of food ids, map food id -> pieces, whether the last change had
-- its effect.
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

-- list(foods, counts, least) returns a list of changes that makes all foods with at least that number of
-- pieces.
local function list(foods, counts, least)
  local changes = {}
  for _, food in ipairs(foods) do
    if counts[food] >= least then changes[#changes + 1] = string.format('%s:%d,', food, counts[food]) end
  end
  return table.concat(changes)
end
