-- Releases orders of a slice whose hold is over: their pieces go back and their users may order again. With
-- rules.lua in front; KEYS as there, but KEYS[1] and KEYS[9] are not used. The keys of the orders follow
-- from the sorted set in the same step, so they are not among KEYS; they have the hash tag of the slice.
--
-- ARGV[1]  begin of the key of an order, ARGV[2] its end, the hash tag of the slice: strings
-- ARGV[3]  orders that one call releases at most: integer > 0
-- ARGV[4]  which are due: "" for those whose hold is over, "+inf" for all
-- ARGV[5]  why they are released: string
--
-- Returns {released, late}: how many were released, -1 without the stock of this sale; how long ago the
-- first of these holds ended: milliseconds, 0 for none
local before, tag, most, till, why = unpack(ARGV)
local NO_SALE = -1

if call('EXISTS', stock) == 0 then return {NO_SALE, 0} end
local now = clock()
local due = call('ZRANGEBYSCORE', holds, '-inf', till == '' and now or till, 'WITHSCORES', 'LIMIT', 0, most)
for i = 1, #due, 2 do
  local user, key = due[i], before .. due[i] .. tag
  local o = read(user, call('GET', key))
  if o and o.state ~= 'paid' then
    release(key, o, 'released', now, why)
  else
    call('ZREM', holds, user)
  end
end
return {#due / 2, due[2] and math.max(now - due[2], 0) or 0}
