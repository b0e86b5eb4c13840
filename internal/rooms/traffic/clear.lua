-- Removes some blocks of a deleted key, in a small step.
--
-- KEYS[1]  ids of deleted keys with blocks left: set
-- KEYS[2]  index of a deleted key: set of blocks as in block.go
-- ARGV[1]  its id: integer > 0
-- ARGV[2]  blocks to remove at most: integer > 0
--
-- Returns the number of its blocks that are left.
local index = KEYS[2]
for _, member in ipairs(call('SPOP', index, ARGV[2])) do
  local step = member % STEPS
  call('DEL', string.format('%s:%d:%d', index, step, (member - step) / STEPS))
end
local left = call('SCARD', index)
if left == 0 then call('SREM', KEYS[1], ARGV[1]) end
return left
