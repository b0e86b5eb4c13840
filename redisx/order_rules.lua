-- Rules of a purchase. Not a script by itself: scripts.go puts it in front of order.lua, behind
-- order_final.lua or order_held.lua, and keeps the lines of order.lua that end with "with rules". It changes
-- SHARED_KEYS and defines termsOf, check and use.
--
-- KEYS[SHARED_KEYS] what orders have used: hash "h:household" -> order, "c:coupon" -> order, households and
--          coupons -> how many of them; with order_held.lua also "u:order" -> "household|coupon". An
--          order is "user-number", see order_held.lua
-- ARGV     of an order: its terms, a line feed, its idempotency key; "" if it has neither
--
-- The terms of an order are "" where no rule concerns it, else "household|coupon|;food:most:times;...":
--   household, coupon  of the order, "" for none; the coupon "?" is one that does not exist
--   food               its id; "*" stands for all foods that are not named
--   most               pieces that the user may have, "" for any number
--   times              when the user may buy it: "from-until,from-until,...", Unix ms, in their order,
--                      without overlap, "" for any time; "!" never, "?" only with a coupon
--
-- A refused order returns RULE + 1024 * (rule + 16 * food), with food 0 where no food is meant. rule is
--          1  more pieces than the user may have
--          2  not yet
--          3  no longer
--          4  the user is not among those who may buy the food
--          5  the food needs a coupon
--          6  another of the household has an order
--          7  the coupon is used
--          8  the coupon does not exist
SHARED_KEYS = SHARED_KEYS + 1
local termsOf, check, use
do
  local RULE, TOO_MANY, TOO_EARLY, TOO_LATE, NOT_LISTED = 11, 1, 2, 3, 4
  local COUPON_NEEDED, HOUSEHOLD, COUPON_USED, COUPON_UNKNOWN = 5, 6, 7, 8
  local call, used = redis.call, KEYS[SHARED_KEYS]
  local function refusal(rule, food) return RULE + 1024 * (rule + 16 * (food or 0)) end

  -- termsOf returns the terms and the idempotency key in an argument; nil for terms of which none counts.
  function termsOf(arg)
    if arg == '' then return nil, '' end
    local ends = string.find(arg, '\n', 1, true)
    if ends == 1 then return nil, string.sub(arg, 2) end
    return string.sub(arg, 1, ends - 1), string.sub(arg, ends + 1)
  end

  -- late returns the rule that these times break now, nil if they break none.
  local function late(times)
    local now = call('TIME')
    now = now[1] * 1000 + math.floor(now[2] / 1000)
    local rule = TOO_LATE
    for from, till in string.gmatch(times, '(%d*)-(%d*)') do
      if from ~= '' and now < tonumber(from) then return TOO_EARLY end
      if till == '' or now < tonumber(till) then return end
    end
    return rule
  end

  -- broken returns the refusal for some pieces of a food, nil where the foods of the terms allow them.
  local function broken(foods, food, pieces)
    local _, ends = string.find(foods, ';' .. food .. ':', 1, true)
    if not ends then _, ends = string.find(foods, ';*:', 1, true) end
    if not ends then return end
    local most, times = string.match(foods, '^(%d*):([^;]*)', ends + 1)
    if times == '!' then return refusal(NOT_LISTED, food) end
    if times == '?' then return refusal(COUPON_NEEDED, food) end
    local rule = times ~= '' and late(times) or most ~= '' and tonumber(pieces) > tonumber(most) and TOO_MANY
    return rule and refusal(rule, food)
  end

  -- check returns the refusal of an order of up to three foods, nil where its terms allow it.
  function check(terms, f1, p1, f2, p2, f3, p3)
    if not terms then return end
    local household, coupon, foods = string.match(terms, '^([^|]*)|([^|]*)|(.*)$')
    if coupon == '?' then return refusal(COUPON_UNKNOWN) end
    if household ~= '' and call('HEXISTS', used, 'h:' .. household) == 1 then return refusal(HOUSEHOLD) end
    if coupon ~= '' and call('HEXISTS', used, 'c:' .. coupon) == 1 then return refusal(COUPON_USED) end
    if foods == '' then return end
    return broken(foods, f1, p1) or f2 ~= '' and broken(foods, f2, p2) or f3 ~= '' and broken(foods, f3, p3)
      or nil
  end

  -- use notes what an order has used.
  function use(terms, order, number)
    if not terms then return end
    local household, coupon = string.match(terms, '^([^|]*)|([^|]*)')
    if household == '' and coupon == '' then return end
    local id = string.format('%s-%d', string.match(order, '%d+'), number)
    if household ~= '' then
      call('HSET', used, 'h:' .. household, id)
      call('HINCRBY', used, 'households', 1)
    end
    if coupon ~= '' then
      call('HSET', used, 'c:' .. coupon, id)
      call('HINCRBY', used, 'coupons', 1)
    end
    if hold then call('HSET', used, 'u:' .. id, household .. '|' .. coupon) end
  end
end
