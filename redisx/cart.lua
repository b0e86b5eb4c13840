-- Says whether a change of a cart had its effect, where the length of the cart's list of changes does not show it
-- already, and keeps long lists short. For any number of changes, one after the other.
--
-- KEYS[i]           of change i: the cart: string, list of changes as in changes.lua
-- ARGV[2i-1], [2i]  of change i: where it ends in the list: bytes > 0; the change itself: string
--
-- Returns for each change
--         0  it had its effect
--         1  the cart would have held more than three pieces: it had none
--         2  the list has been shortened since, or the cart was ordered or has expired: it is not known
local DONE, OVER_LIMIT, UNKNOWN = 0, 1, 2
local LONG, SHORTENED, REMEMBERED = 512, '%-64s', 32
local call = redis.call

-- shorten keeps the foods that have pieces and, while they are few, the places of the others. The result is never
-- so short that its length alone would allow an add.
local function shorten(cart, changes)
  local foods, counts = settle(changes)
  changes = list(foods, counts, #foods > REMEMBERED and 1 or 0)
  call('SET', cart, string.format(SHORTENED, changes), 'KEEPTTL')
end

local function check(cart, stop, change)
  local changes = call('GET', cart)
  if not changes or string.sub(changes, stop - #change + 1, stop) ~= change then return UNKNOWN end
  local _, _, accepted = settle(string.sub(changes, 1, stop))
  -- Behind others that are still to be asked about, the list stays as it is.
  if #changes > LONG and #changes == stop then shorten(cart, changes) end
  return accepted and DONE or OVER_LIMIT
end

local codes = {}
for i = 1, #KEYS do codes[i] = check(KEYS[i], tonumber(ARGV[2 * i - 1]), ARGV[2 * i]) end
return codes
