-- Second step of a transfer: the giving slice takes the pieces out of its stock and notes them. A repeated
-- call gives the same pieces, once.
--
-- KEYS[1]  the stock of the giver: hash food id -> pieces left, ">" receiver -> "number food:pieces," of the
--          last transfer; ">" -> how many steps of transfers this slice has seen
-- ARGV[1]  the receiver: number of the slice
-- ARGV[2]  number of the transfer: integer > 0
-- ARGV[3]  what is asked for: string "food:pieces,food:pieces,"
--
-- Returns what is given, as ARGV[3], perhaps ""; "-" if a later transfer was begun, or without a stock: then
-- nothing is changed; "!" if transfers before it are missing here (transfer_repair.lua): nothing is changed
local stock, field, number, asked = KEYS[1], '>' .. ARGV[1], tonumber(ARGV[2]), ARGV[3]
local NOTHING, MISSING = '-', '!'
local call = redis.call

if call('EXISTS', stock) == 0 then return NOTHING end
local last, given = string.match(call('HGET', stock, field) or '0 ', '^(%d+) (.*)$')
if number == tonumber(last) then return given end
if number < tonumber(last) then return NOTHING end
if number > last + 1 then return MISSING end
local list = {}
for food, pieces in string.gmatch(asked, '(%d+):(%d+),') do
  local give = math.min(tonumber(pieces), tonumber(call('HGET', stock, food) or 0))
  if give > 0 then
    call('HINCRBY', stock, food, string.format('-%d', give))
    list[#list + 1] = string.format('%s:%d,', food, give)
  end
end
given = table.concat(list)
call('HSET', stock, field, string.format('%d %s', number, given))
call('HINCRBY', stock, '>', 1)
return given
