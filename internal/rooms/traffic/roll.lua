-- Adds up a block of a key into buckets of the next tier and removes it, in one step. A block that is not
-- there any more adds nothing, so the step may be repeated.
--
-- KEYS[1]  index of the key: set of blocks as in block.go
-- KEYS[2]  the block: hash bucket 0 to 127 -> hits
-- KEYS[3]  the first block that it goes to
-- KEYS[4]  the second one, or the first again
-- ARGV[1]  the block in the index: integer
-- ARGV[2]  the first target in the index
-- ARGV[3]  the second one
-- ARGV     for each run of buckets that become one: the last of them, 1 or 2 for the target, and the bucket
--          there
--
-- Returns the number of buckets that were added up.
local index, source = KEYS[1], KEYS[2]
local fields = call('HGETALL', source)
local sums, used = {}, {}
for i = 1, #fields, 2 do
  local bucket, run = tonumber(fields[i]), 4
  while tonumber(ARGV[run]) < bucket do run = run + 3 end
  sums[run] = (sums[run] or 0) + tonumber(fields[i + 1])
end
for run = 4, #ARGV, 3 do
  if sums[run] then
    local target = tonumber(ARGV[run + 1])
    raise(KEYS[2 + target], ARGV[run + 2], string.format('%.0f', sums[run]))
    used[target] = true
  end
end
for target = 1, 2 do
  if used[target] then call('SADD', index, ARGV[1 + target]) end
end
call('DEL', source)
call('SREM', index, ARGV[1])
return #fields / 2
