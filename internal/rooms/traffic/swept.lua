-- Notes that some keys are swept, unless another server has noted more or the sweep has begun anew.
--
-- KEYS[1]  state: hash as in keys.go
-- ARGV[1]  the last id that was swept before: integer >= 0
-- ARGV[2]  the last id that is swept now: integer, -1 when all are
--
-- Returns the last id that is swept, -1 when all are.
local cursor = redis.call('HGET', KEYS[1], 'cursor')
if cursor == ARGV[1] then
  cursor = ARGV[2]
  redis.call('HSET', KEYS[1], 'cursor', cursor)
end
return tonumber(cursor or -1)
