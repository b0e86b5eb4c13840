-- Opens the sale in an empty Redis: puts the stock there and the sale's marker beside it, in one step, so that
-- of several servers that start together exactly one does it. Where a sale is open, nothing is changed.
--
-- KEYS[1]  the marker: hash id, catalog, opened
-- KEYS[2]  the stock of the proposed sale: hash food id -> pieces, and a note
-- ARGV[1]  proposed id of the sale: string
-- ARGV[2]  fingerprint of the foods: string
-- ARGV[3]  now: Unix seconds
-- ARGV[4]  id of the sale that must be there: string, "" for any or none
-- ARGV[5+] pieces of food 1, 2, 3, ...: integers >= 0
--
-- Returns {code, id, catalog}, the latter two of the open sale, "" where none is
--         0  a sale is open
--         1  this call opened it
--         2  there is no sale, but one must be there: nothing is changed
local marker, stock = KEYS[1], KEYS[2]
local id, catalog, now, expected = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local IS_OPEN, OPENED, LOST = 0, 1, 2
local FIRST_FOOD, CHUNK = 5, 1000 -- unpack() is limited to a few thousand values

if redis.call('EXISTS', marker) == 1 then
  local open = redis.call('HMGET', marker, 'id', 'catalog')
  return {IS_OPEN, open[1], open[2]}
end
if expected ~= '' then return {LOST, '', ''} end
-- A value of more than 64 bytes makes Redis keep the hash as a table, which finds a food at once, instead of as a list.
local fields = {'note', 'pieces left, by food id; this long text keeps the hash out of the slower list encoding'}
for i = FIRST_FOOD, #ARGV do
  fields[#fields + 1] = i - FIRST_FOOD + 1
  fields[#fields + 1] = ARGV[i]
  if #fields == 2 * CHUNK or i == #ARGV then
    redis.call('HSET', stock, unpack(fields))
    fields = {}
  end
end
redis.call('HSET', marker, 'id', id, 'catalog', catalog, 'opened', now)
return {OPENED, id, catalog}
