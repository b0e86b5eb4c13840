-- Takes orders that are in the ledger out of the stream: acknowledges them, and cuts off the stream before
-- the first entry that is not acknowledged. Deleting each entry (XDEL) costs more: see the tuning table.
--
-- KEYS[1]  the stream of orders
-- ARGV[1]  name of the consumer group: string
-- ARGV[2+] ids of the entries: strings, at most some thousands
--
-- Returns the number of entries that were cut off: integer >= 0
local stream, group = KEYS[1], ARGV[1]
local call = redis.call

-- uncut is the first id that is still needed: the oldest delivered entry that is not acknowledged, or else
-- the first after the last delivered entry.
local function uncut()
  local pending = call('XPENDING', stream, group)
  if pending[1] > 0 then return pending[2] end
  for _, info in ipairs(call('XINFO', 'GROUPS', stream)) do
    local fields = {}
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
    if fields['name'] == group then
      local ms, number = string.match(fields['last-delivered-id'], '(%d+)-(%d+)')
      return string.format('%s-%d', ms, tonumber(number) + 1)
    end
  end
end

call('XACK', stream, group, unpack(ARGV, 2))
return call('XTRIM', stream, 'MINID', '=', uncut())
