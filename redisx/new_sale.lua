-- Puts a sale into Redis. Not a script by itself: it stands in front of open.lua and turnover/end.lua,
-- behind states.lua. It defines putStock and putSale.

-- putStock makes the stock of a sale from ARGV[first] on: pieces of food 1, 2, 3, ...
local function putStock(stock, first)
  local CHUNK = 1000 -- unpack() is limited to a few thousand values
  -- A value of more than 64 bytes makes Redis keep the hash as a table instead of a list: finding a food in
  -- a table is fast.
  local NOTE = 'pieces left, by food id; this long text keeps the hash out of the slower list encoding'
  local fields = {'note', NOTE}
  for i = first, #ARGV do
    fields[#fields + 1] = i - first + 1
    fields[#fields + 1] = ARGV[i]
    if #fields == 2 * CHUNK or i == #ARGV then
      redis.call('HSET', stock, unpack(fields))
      fields = {}
    end
  end
end

-- putSale makes the marker and the log of a sale, and opens the sale if it is time. The times are Unix ms,
-- '' for none; hold is how long orders are held, milliseconds as a text; by is who opens it, for the log.
local function putSale(marker, gate, log, id, catalog, opens_at, closes_at, pieces, hold, by)
  redis.call('HSET', marker, 'id', id, 'catalog', catalog)
  if hold ~= '0' then redis.call('HSET', marker, 'hold', hold) end
  if opens_at ~= '' then redis.call('HSET', marker, 'opens_at', opens_at) end
  if closes_at ~= '' then redis.call('HSET', marker, 'closes_at', closes_at) end
  redis.call('XADD', log, '*', 'by', by, 'what', 'opened', 'pieces', string.format('%d', pieces),
    'opens_at', opens_at, 'closes_at', closes_at)
  currentSale(marker, gate, log, id)
end
