-- Where hits are stored: buckets in blocks, see block.go. This is a part of scripts, see scripts.go.
local call = redis.call
local BLOCK, STEPS = 128, 16 -- blockBuckets and stepCodes
local SUM_MOST = 9007199254740991 -- sumMax: Lua counts exactly up to there

-- raise adds n hits to a bucket of a block and returns the sum, which may be over SUM_MOST.
local function raise(block, bucket, n)
  local sum = call('HINCRBY', block, bucket, n)
  if sum > SUM_MOST then call('HSET', block, bucket, string.format('%.0f', SUM_MOST)) end
  return sum
end
