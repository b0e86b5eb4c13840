-- Joins the sale that Redis holds. If there is no sale and the call may open one, it puts the stock and the
-- sale's marker into Redis in one step: of several servers that start together exactly one opens the sale. A
-- server that joins is compared with the server that joined before it.
--
-- KEYS[1]  the marker: hash id, catalog, server, previous, next_id, and the fields of states.lua
-- KEYS[2]  the stock of the proposed sale: hash food id -> pieces, and a note
-- KEYS[3]  the gate of the proposed sale: string
-- KEYS[4]  the log of the proposed sale: stream
-- ARGV[1]  proposed id of the sale: string, "" when the call must not open a sale
-- ARGV[2]  fingerprint of the foods: string
-- ARGV[3]  id of the only sale to join, or of a sale before it: string, "" for any
-- ARGV[4]  fingerprints of this server: string "secret:root:users,...", each 16 hex digits, for each token
--          secret, the signing secret first; "" for none
-- ARGV[5]  "true" when no other server has to agree with this server, else "false"
-- ARGV[6]  when the proposed sale opens: Unix ms, "" for at once
-- ARGV[7]  when it closes: Unix ms, "" for never
-- ARGV[8]  number of slices of the proposed sale: integer > 0
-- ARGV[9]  pieces of all foods in all its slices: integer >= 0
-- ARGV[10] how long orders of the proposed sale are held: milliseconds, 0 for not
-- ARGV[11+] pieces of food 1, 2, 3, ... in the home slice: integers >= 0, only with ARGV[1]
--
-- Returns {code, id, catalog, differences, opens_at, closes_at, previous, slices, filling, hold}: id,
-- catalog and times (Unix ms) of the sale in Redis, "" for none; previous is the ids of the sales before it,
-- last one first, separated by spaces; filling is 1 while other slices may be missing, else 0; hold as
-- ARGV[10]
--         0  a sale is open
--         1  this call opened it
--         2  there is no sale: nothing is changed
--         3  another sale than ARGV[3] is open: nothing is changed
--         4  this server shares no secret with the others of the sale: nothing is changed
--         5  a turnover to the next sale is under way: nothing is changed
--         6  ARGV[7] is over: nothing is changed
--         differences: sum of 1 the other servers refuse tokens of this one, 2 this one refuses tokens of
--         another, 4 root's password differs, 8 the users differ
local marker, stock, gate, log = unpack(KEYS)
local proposed, catalog, wanted, server, alone, opens_at, closes_at, slices = unpack(ARGV, 1, 8)
local pieces, hold = ARGV[9], ARGV[10]
local FIRST_FOOD = 11
local IS_OPEN, OPENED, NONE, OTHER, STRANGER, TURNING, OVER = 0, 1, 2, 3, 4, 5, 6
local THEY_REFUSE, WE_REFUSE, ROOT, USERS = 1, 2, 4, 8

-- fingerprints parses ARGV[4]: those of root and of the users by secret, and the signing secret.
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
  'next_id', 'slices', 'filling', 'hold')
local their_catalog, previous = open[2] or '', open[6] or ''

local function answer(code, differences)
  return {code, open[1], their_catalog, differences, open[4] or '', open[5] or '', previous,
    tonumber(open[8] or 1), tonumber(open[9] or 0), tonumber(open[10] or 0)}
end

if open[7] then return answer(TURNING, 0) end
if open[1] then
  local known = string.find(' ' .. open[1] .. ' ' .. previous .. ' ', ' ' .. wanted .. ' ', 1, true)
  if wanted ~= '' and not known then return answer(OTHER, 0) end
  local differences, related = compare(open[3] or '')
  if not related and alone ~= 'true' then return answer(STRANGER, differences) end
  if server ~= '' and their_catalog == catalog and open[3] ~= server then
    -- A Redis that takes no writes keeps no server from joining.
    redis.pcall('HSET', marker, 'server', server)
  end
  return answer(IS_OPEN, differences)
end
if proposed == '' or wanted ~= '' then return {NONE, '', '', 0, '', '', '', 0, 0, 0} end
if closes_at ~= '' and tonumber(closes_at) <= clock() then return {OVER, '', '', 0, '', '', '', 0, 0, 0} end
putStock(stock, FIRST_FOOD)
putSale(marker, gate, log, proposed, catalog, opens_at, closes_at, pieces, hold, 'terminal')
if server ~= '' then redis.call('HSET', marker, 'server', server) end
if tonumber(slices) > 1 then redis.call('HSET', marker, 'slices', slices, 'filling', 1) end
return {OPENED, proposed, catalog, 0, opens_at, closes_at, '', tonumber(slices), slices == '1' and 0 or 1,
  tonumber(hold)}
