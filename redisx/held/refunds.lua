-- Lists payments that are due to be given back, the oldest first, or those that were given back, the last
-- one first. With shared.lua in front; KEYS as there, but KEYS[1] is not used.
--
-- ARGV[1]  "due" or "done"
-- ARGV[2]  the payment behind which the list begins: string, "" for its begin; for "due" also one that was
--          given back meanwhile: those that are due since the same ms may come once more
-- ARGV[3]  payments in the list at most: integer > 0
--
-- Returns {found, ...}: 0 if there is no payment ARGV[2] here, else 1; then for each payment its id, its
-- time (since when it is due, or when it was given back: Unix ms) and what KEYS[5] has of it
local kind, after, most = ARGV[1], ARGV[2], tonumber(ARGV[3])

local dones = call('ZCOUNT', refunds, '-inf', '(0')
local from, to = 0, dones - 1
if kind == 'due' then from, to = dones, -1 end
if after ~= '' then
  local rank = call('ZRANK', refunds, after)
  local isDone = rank and rank < dones
  if isDone and kind == 'due' then
    from = dones + call('ZCOUNT', refunds, '(0', '(' .. call('HGET', payments, after .. '/since'))
  elseif rank and isDone == (kind == 'done') then
    from = rank + 1
  else
    return {0}
  end
end
if to == -1 and kind == 'done' then return {1} end
local last = from + most - 1
if to >= 0 then last = math.min(last, to) end
local list = {1}
local found = last >= from and call('ZRANGE', refunds, from, last, 'WITHSCORES') or {}
for i = 1, #found, 2 do
  list[#list + 1] = found[i]
  list[#list + 1] = string.format('%d', math.abs(tonumber(found[i + 1])))
  list[#list + 1] = call('HGET', payments, found[i]) or ''
end
return list
