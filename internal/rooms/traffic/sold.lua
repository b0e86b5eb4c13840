-- Counts pieces that were sold and are not counted yet, so that several servers that see the same stock
-- count a piece once.
--
-- KEYS[3]  pieces of the sale that are counted: hash key -> pieces
-- ARGV     after the arguments of hits.lua, with one time: for each food its key, and all its pieces that
--          were sold: integer >= 0
--
-- Returns the number of pieces that were counted now.
local SALE_LIFETIME = 34560000
local counted = 0
for i = read + 1, #ARGV, 2 do
  local more = tonumber(ARGV[i + 1]) - tonumber(call('HGET', KEYS[3], ARGV[i]) or 0)
  if more > 0 then
    add(ARGV[i], 1, more)
    call('HSET', KEYS[3], ARGV[i], ARGV[i + 1])
    counted = counted + more
  end
end
finish()
if counted > 0 then call('EXPIRE', KEYS[3], SALE_LIFETIME) end
return counted
