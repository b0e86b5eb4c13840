-- Releases orders of a slice whose hold is over: their pieces go back and their users may order again. With
-- rules.lua in front; KEYS as there, but KEYS[1] and KEYS[9] are not used. The keys of the orders follow
-- from the sorted set in the same step, so they are not among KEYS; they have the hash tag of the slice.
--
-- ARGV[1]  begin of the key of an order, ARGV[2] its end, the hash tag of the slice: strings
-- ARGV[3]  orders that one call releases at most: integer > 0
--
-- Returns {released, next}: how many were released, -1 without the stock of this sale; when the next hold
-- ends, Unix ms, 0 for none
local before, tag, most = unpack(ARGV)
local NO_SALE = -1

if call('EXISTS', stock) == 0 then return {NO_SALE, 0} end
local now = clock()
local due = call('ZRANGEBYSCORE', holds, '-inf', now, 'LIMIT', 0, most)
for _, user in ipairs(due) do
  local key = before .. user .. tag
  local o = read(user, call('GET', key))
  if o and o.state ~= 'paid' then
    release(key, o, 'released', now, 'expired')
  else
    call('ZREM', holds, user)
  end
end
local next = call('ZRANGE', holds, 0, 0, 'WITHSCORES')[2]
return {#due, tonumber(next or 0)}
