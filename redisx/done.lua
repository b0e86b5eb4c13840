-- Takes orders that are in the ledger out of the stream: acknowledges them, and cuts off the start of the stream in which
-- all are acknowledged. To delete each by itself (XDEL) would cost as much as all the rest of the ledger.
--
-- KEYS[1]  the stream
-- ARGV[1]  name of the consumer group: string
-- ARGV[2+] ids of the entries: at most some thousands
--
-- Returns how many entries were cut off
local stream, group = KEYS[1], ARGV[1]
local call = redis.call

-- uncut is the first id that somebody still needs: the oldest that was given to a consumer and is not acknowledged, or
-- else whatever follows the last that was given to one.
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
