-- Counts hits. This is a part of scripts, see scripts.go.
--
-- flush.lua and sold.lua begin with these:
-- KEYS[1]  state: hash as in keys.go
-- KEYS[2]  ids of keys by name: sorted set
-- KEYS[3]  see the script
-- ARGV[1]  most keys there may be: integer > 0
-- ARGV[2]  number of tiers: integer > 0
-- ARGV     the step of each tier, the finest first: integers as in step.go
-- ARGV     number of times: integer > 0
-- ARGV     for each time: its bucket in each tier, then its slot of five minutes: integers
local state, names = KEYS[1], KEYS[2]
local SLOT_LIFETIME = 93600
local OTHER = 'other' -- the key of hits beyond the most keys
local tag = string.sub(state, 1, -6) -- it ends with "state"
local most, tiers = tonumber(ARGV[1]), tonumber(ARGV[2])
local read = 2 + tiers -- arguments so far

local steps, frontiers, times, slots = {}, {}, {}, {}
for i = 1, tiers do steps[i] = ARGV[2 + i] end
for i, number in ipairs(call('HMGET', state, unpack(steps))) do frontiers[i] = tonumber(number or 0) or 0 end
local firstSlot = tonumber(call('HGET', state, 'top') or 0) or 0

-- A hit lands in the finest tier that still takes its time: never in a block that was added up already.
local count = tonumber(ARGV[read + 1])
read = read + 1
for i = 1, count do
  local tier = 1
  while tier < tiers and tonumber(ARGV[read + tier]) < frontiers[tier] do tier = tier + 1 end
  local number = tonumber(ARGV[read + tier])
  local block = math.floor(number / BLOCK)
  times[i] = {
    block = ':' .. steps[tier] .. ':' .. block, field = number % BLOCK,
    member = block * STEPS + steps[tier],
    slot = tag .. 'top:' .. math.max(tonumber(ARGV[read + tiers + 1]), firstSlot),
  }
  slots[times[i].slot] = true
  read = read + tiers + 1
end

-- identify returns the name that a key is counted under, and its id.
local function identify(name, n)
  local id = call('ZSCORE', names, name)
  if id then return name, id end
  if call('ZCARD', names) >= most and name ~= OTHER then
    call('HINCRBY', state, OTHER, n)
    return identify(OTHER, n)
  end
  id = call('HINCRBY', state, 'ids', 1)
  call('ZADD', names, id, name)
  return name, id
end

-- add counts n hits of a key at one of the times.
local function add(name, time, n)
  local at, id = times[tonumber(time)], nil
  name, id = identify(name, n)
  local block = tag .. id .. at.block
  if raise(block, at.field, n) == tonumber(n) then call('SADD', tag .. id, at.member) end -- it is new
  call('ZINCRBY', at.slot, n, name)
end

-- finish must follow.
local function finish()
  for slot in pairs(slots) do call('EXPIRE', slot, SLOT_LIFETIME) end
end
