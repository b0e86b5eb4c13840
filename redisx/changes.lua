-- The rules of a cart. No script by itself: script.go puts it before those that need it.
--
-- A cart begins as the list of all changes that were asked of it: a string "food:pieces," for each, with spaces
-- between them or not. Adding to one is then a plain APPEND; what the list amounts to is worked out here, change by
-- change in their order:
-- - one that would bring the cart above the limit of pieces has no effect;
-- - negative pieces take away, and a food never falls below 0;
-- - foods are listed in the order in which they were first added, also when none is left.
--
-- A list that may ask for more than the limit is settled: it becomes a hash, to which nothing can be appended, so that
-- it stays as short as it is. Its fields are
--   items    what the cart amounts to, as a list of changes
--   changes  the list as it was, which tells late askers what became of their change

-- settle(changes, limit) returns: list of food ids, map food id -> pieces, whether the last change had its effect.
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

-- list(foods, counts, least) returns the list of changes that makes the foods with at least so many pieces.
local function list(foods, counts, least)
  local changes = {}
  for _, food in ipairs(foods) do
    if counts[food] >= least then changes[#changes + 1] = string.format('%s:%d,', food, counts[food]) end
  end
  return table.concat(changes)
end
