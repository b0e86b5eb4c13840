-- Joins the sale that Redis holds or, where there is none and it may, opens one: puts the stock there and
-- the sale's marker beside it, in one step, so that of several servers that start together exactly one
-- opens it. A server that joins is compared with the one that joined before it; the next one is compared
-- with this one.
--
-- It also ends a turnover (next_begin.lua): then the proposed sale is the next one, and opens in the place of
-- the sale before.
--
-- KEYS[1]  the marker: hash id, catalog, opened, server, previous
-- KEYS[2]  the stock of the proposed sale: hash food id -> pieces, and a note
-- KEYS[3]  where the marker of the sale before is kept, when a turnover ends
-- KEYS[4]  the stream of orders of the proposed sale, when a turnover ends and the sale before kept a ledger
-- KEYS[5]  where the stock of the proposed sale was kept for the turnover: list
-- ARGV[1]  proposed id of the sale: string, "" when none may be opened
-- ARGV[2]  fingerprint of the foods: string
-- ARGV[3]  now: Unix seconds
-- ARGV[4]  id of the one sale to join, or of one before it: string, "" for any
-- ARGV[5]  fingerprints of this server: string "secret:root:users,...", each 16 hex digits, for each of its
--          token secrets, first the one that signs; "" for none
-- ARGV[6]  1 when no other server has to agree with this one, else 0
-- ARGV[7]  name of the consumer group of KEYS[4]: string
-- ARGV[8+] pieces of food 1, 2, 3, ...: integers >= 0, only with ARGV[1]
--
-- Returns {code, id, catalog, differences, previous}; id and catalog are those of the open sale, "" where none
--         is; previous is the ids of the sales before it, the last one first, with spaces between
--         0  a sale is open
--         1  this call opened it
--         2  there is no sale: nothing is changed
--         3  another sale than ARGV[4] is open: nothing is changed
--         4  this server shares no secret with those of the sale: nothing is changed
--         5  a turnover to another sale than ARGV[1] is under way: nothing is changed
--         differences: sum of 1 the other servers refuse what this one signs, 2 this one refuses what
--         another signs, 4 root's password differs, 8 the users differ
local marker, stock, kept, stream, next_stock = unpack(KEYS)
local proposed, catalog, now, wanted = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local server, alone, group = ARGV[5], ARGV[6] == '1', ARGV[7]
local IS_OPEN, OPENED, NONE, OTHER, STRANGER, TURNING = 0, 1, 2, 3, 4, 5
local THEY_REFUSE, WE_REFUSE, ROOT, USERS = 1, 2, 4, 8
local FIRST_FOOD, CHUNK = 8, 1000 -- unpack() is limited to a few thousand values

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

-- descends returns whether a sale is the one in the marker or one before it.
local function descends(id, open, previous)
  return id == open or string.find(' ' .. previous .. ' ', ' ' .. id .. ' ', 1, true)
end

-- retire puts the marker of the sale before away, and returns what the next one has of it.
local function retire(open, previous)
  local delete = redis.call('HGET', marker, 'next_delete') == '1'
  redis.call('HDEL', marker, 'next_id', 'next_catalog', 'next_opens_at', 'next_closes_at', 'next_delete')
  redis.call('UNLINK', next_stock)
  if delete then redis.call('UNLINK', marker) else redis.call('RENAME', marker, kept) end
  local fields = {'previous', previous}
  if open[3] then fields[#fields + 1], fields[#fields + 2] = 'server', open[3] end
  if open[6] then
    fields[#fields + 1], fields[#fields + 2] = 'ledger', 'on'
    redis.call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
  end
  return fields
end

local open = redis.call('HMGET', marker, 'id', 'catalog', 'server', 'next_id', 'previous', 'ledger')
local their_catalog, previous = open[2] or '', open[5] or ''
if open[4] and open[4] ~= proposed then return {TURNING, open[1], their_catalog, 0, previous} end
if open[1] and not open[4] then
  if wanted ~= '' and not descends(wanted, open[1], previous) then
    return {OTHER, open[1], their_catalog, 0, previous}
  end
  local differences, related = compare(open[3] or '')
  if not related and not alone then return {STRANGER, open[1], their_catalog, differences, previous} end
  if server ~= '' and their_catalog == catalog and open[3] ~= server then
    -- A Redis that takes no writes keeps no server from joining.
    redis.pcall('HSET', marker, 'server', server)
  end
  return {IS_OPEN, open[1], their_catalog, differences, previous}
end
-- A turnover ends nowhere but in the Redis in which it was begun.
if proposed == '' or wanted ~= '' and not open[4] then return {NONE, '', '', 0, ''} end
-- A value of more than 64 bytes makes Redis keep the hash as a table instead of a list: a table finds a
-- food at once.
local NOTE = 'pieces left, by food id; this long text keeps the hash out of the slower list encoding'
local fields = {'note', NOTE}
for i = FIRST_FOOD, #ARGV do
  fields[#fields + 1] = i - FIRST_FOOD + 1
  fields[#fields + 1] = ARGV[i]
  if #fields == 2 * CHUNK or i == #ARGV then
    redis.call('HSET', stock, unpack(fields))
    fields = {}
  end
end
if open[4] then
  previous = previous == '' and open[1] or open[1] .. ' ' .. previous
  redis.call('HSET', marker, unpack(retire(open, previous)))
end
redis.call('HSET', marker, 'id', proposed, 'catalog', catalog, 'opened', now)
if server ~= '' then redis.call('HSET', marker, 'server', server) end
return {OPENED, proposed, catalog, 0, previous}
