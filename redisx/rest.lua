-- The rest of a sale. This is no script by itself: Go puts it before export.lua and next_begin.lua.

-- rest returns the pieces left of all foods, less those that were restocked. It changes only when pieces are
-- sold: pieces at the start - rest = pieces sold. It reads a hash with two fields a food, which takes about
-- a second for a million foods; the sale is closed then.
local function rest(stock)
  local fields, sum = redis.call('HGETALL', stock), 0
  for i = 1, #fields, 2 do
    local name = fields[i]
    if string.find(name, '^%d+$') then sum = sum + fields[i + 1] end
    if string.find(name, '^%+%d+$') then sum = sum - fields[i + 1] end
  end
  return sum
end
