-- Lets the stream of events of a sale that has ended expire some time after its last entry, and notes that
-- entry: whoever has not read it by then can be told so.
--
-- KEYS[1]  the stream
-- KEYS[2]  what was cut off: hash id (of the last entry), count; end (id of the last entry that was there),
--          total (entries up to it)
-- KEYS[3+] the places of the receivers and their dead letters: hashes
-- ARGV[1]  how long all these stay: seconds
--
-- Returns 1  the stream has grown: its time begins anew
--         0  it has not
local stream, gone, seconds = KEYS[1], KEYS[2], ARGV[1]
local GROWN, SAME = 1, 0
local call = redis.call

local last = call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
local noted = call('HMGET', gone, 'end', 'total', 'count')
local grown = last and last[1] ~= noted[1]
if grown then
  local count = noted[3] or 0
  if noted[1] and #call('XRANGE', stream, '-', noted[1], 'COUNT', 1) == 0 then -- what was there has expired
    count = noted[2]
    call('HSET', gone, 'id', noted[1], 'count', count)
  end
  call('HSET', gone, 'end', last[1], 'total', count + call('XLEN', stream))
  call('EXPIRE', stream, seconds)
end
for i = 3, #KEYS do
  if grown or call('TTL', KEYS[i]) == -1 then call('EXPIRE', KEYS[i], seconds) end
end
return grown and GROWN or SAME
