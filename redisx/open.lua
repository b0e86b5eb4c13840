-- Joins the sale that Redis holds or, where there is none and it may, opens one: puts the stock there and
-- the sale's marker beside it, in one step, so that of several servers that start together exactly one
-- opens it. A server that joins is compared with the one that joined before it; the next one is compared
-- with this one. With state.lua in front.
--
-- It also ends a turnover (next_begin.lua): then the proposed sale is the next one, and opens in the place
-- of the sale before.
--
-- KEYS[1]  the marker: hash id, catalog, opened, server, previous, next_*, and the fields of state.lua
-- KEYS[2]  the stock of the proposed sale: hash food id -> pieces, and a note
-- KEYS[3]  the gate of the proposed sale: string
-- KEYS[4]  the log of the proposed sale: stream
-- KEYS[5]  where a turnover that ends keeps the marker of the sale before: hash
-- KEYS[6]  the stream of orders of the proposed sale; made here when the sale before kept a ledger
-- KEYS[7]  where a turnover has kept the stock of the proposed sale: list
-- ARGV[1]  proposed id of the sale: string, "" when none may be opened
-- ARGV[2]  fingerprint of the foods: string
-- ARGV[3]  now: Unix seconds
-- ARGV[4]  id of the one sale to join, or of one before it: string, "" for any
-- ARGV[5]  fingerprints of this server: string "secret:root:users,...", each 16 hex digits, for each of its
--          token secrets, first the one that signs; "" for none
-- ARGV[6]  1 when no other server has to agree with this one, else 0
-- ARGV[7]  when the proposed sale opens: Unix ms, "" for at once
-- ARGV[8]  when it closes: Unix ms, "" for never
-- ARGV[9]  name of the consumer group of KEYS[6]: string
-- ARGV[10+] pieces of food 1, 2, 3, ...: integers >= 0, only with ARGV[1]
--
-- Returns {code, id, catalog, differences, opens_at, closes_at, previous}; id, catalog and the times (Unix
-- ms) are those of the sale that is there, "" for none; previous is the ids of the sales before it, the last
-- one first, with spaces between
--         0  a sale is open
--         1  this call opened it
--         2  there is no sale: nothing is changed
--         3  another sale than ARGV[4] is open: nothing is changed
--         4  this server shares no secret with those of the sale: nothing is changed
--         5  a turnover to another sale than ARGV[1] is under way: nothing is changed
--         differences: sum of 1 the other servers refuse what this one signs, 2 this one refuses what
--         another signs, 4 root's password differs, 8 the users differ
local marker, stock, gate, log, kept, stream, next_stock = unpack(KEYS)
local proposed, catalog, now, wanted = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local server, alone, opens_at, closes_at = ARGV[5], ARGV[6] == '1', ARGV[7], ARGV[8]
local group = ARGV[9]
local IS_OPEN, OPENED, NONE, OTHER, STRANGER, TURNING = 0, 1, 2, 3, 4, 5
local THEY_REFUSE, WE_REFUSE, ROOT, USERS = 1, 2, 4, 8
local FIRST_FOOD, CHUNK = 10, 1000 -- unpack() is limited to a few thousand values

-- fingerprints reads ARGV[5]: those of root and of the users by secret, and the secret that signs.
local function fingerprints(text)
  local root, users, signs = {}, {}, nil
  for secret, r, u in string.gmatch(text, '(%x+):(%x+):(%x+)') do
    root[secret], users[secret], signs = r, u, signs or secret
  end
  return root, users, signs
end

-- compare returns the differences from the server before, and whether the two share a secret.
local function compare(before)
  local their_root, their_users, they_sign = fingerprints(before)
  local our_root, our_users, we_sign = fingerprints(server)
  if not they_sign or not we_sign then return 0, true end
  local shared
  for secret in pairs(our_root) do
    if their_root[secret] then shared = secret end
  end
  local found = 0
  if not their_root[we_sign] then found = found + THEY_REFUSE end
  if not our_root[they_sign] then found = found + WE_REFUSE end
  if shared and their_root[shared] ~= our_root[shared] then found = found + ROOT end
  if shared and their_users[shared] ~= our_users[shared] then found = found + USERS end
  return found, shared ~= nil
end

local open = redis.call('HMGET', marker, 'id', 'catalog', 'server', 'opens_at', 'closes_at', 'previous',
  'next_id')
local their_catalog, previous, turning = open[2] or '', open[6] or '', open[7]

local function answer(code, differences)
  return {code, open[1], their_catalog, differences, open[4] or '', open[5] or '', previous}
end

-- retire ends a turnover: the marker of the sale before is put away, and the next one has of it what stays.
local function retire()
  local before = redis.call('HMGET', marker, 'ledger', 'next_delete')
  redis.call('HDEL', marker, 'next_id', 'next_catalog', 'next_opens_at', 'next_closes_at', 'next_delete')
  redis.call('UNLINK', next_stock)
  if before[2] == '1' then redis.call('DEL', marker) else redis.call('RENAME', marker, kept) end
  previous = previous == '' and open[1] or open[1] .. ' ' .. previous
  redis.call('HSET', marker, 'previous', previous)
  if open[3] then redis.call('HSET', marker, 'server', open[3]) end
  if before[1] then
    redis.call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
    redis.call('HSET', marker, 'ledger', 'on')
  end
end

if turning and turning ~= proposed then return answer(TURNING, 0) end
if open[1] and not turning then
  local known = string.find(' ' .. open[1] .. ' ' .. previous .. ' ', ' ' .. wanted .. ' ', 1, true)
  if wanted ~= '' and not known then return answer(OTHER, 0) end
  local differences, related = compare(open[3] or '')
  if not related and not alone then return answer(STRANGER, differences) end
  if server ~= '' and their_catalog == catalog and open[3] ~= server then
    -- A Redis that takes no writes keeps no server from joining.
    redis.pcall('HSET', marker, 'server', server)
  end
  return answer(IS_OPEN, differences)
end
-- A turnover ends nowhere but in the Redis in which it was begun.
if proposed == '' or wanted ~= '' and not turning then return {NONE, '', '', 0, '', '', ''} end
-- A value of more than 64 bytes makes Redis keep the hash as a table instead of a list: a table finds a
-- food at once.
local NOTE = 'pieces left, by food id; this long text keeps the hash out of the slower list encoding'
local fields, pieces = {'note', NOTE}, 0
for i = FIRST_FOOD, #ARGV do
  fields[#fields + 1] = i - FIRST_FOOD + 1
  fields[#fields + 1] = ARGV[i]
  pieces = pieces + ARGV[i]
  if #fields == 2 * CHUNK or i == #ARGV then
    redis.call('HSET', stock, unpack(fields))
    fields = {}
  end
end
if turning then retire() end
redis.call('HSET', marker, 'id', proposed, 'catalog', catalog, 'opened', now)
if server ~= '' then redis.call('HSET', marker, 'server', server) end
if opens_at ~= '' then redis.call('HSET', marker, 'opens_at', opens_at) end
if closes_at ~= '' then redis.call('HSET', marker, 'closes_at', closes_at) end
redis.call('XADD', log, '*', 'by', 'terminal', 'what', 'opened', 'pieces', string.format('%d', pieces),
  'opens_at', opens_at, 'closes_at', closes_at)
turn(marker, gate, log, proposed)
return {OPENED, proposed, catalog, 0, opens_at, closes_at, previous}
