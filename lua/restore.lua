-- Gives the units of one attempt back, if the buyer is noted with it. Made twice
-- it does nothing the second time.
--
-- KEYS[1] rg:{item}:meta; stock and buyers are those of the epoch in it
-- ARGV[1] user    ARGV[2] biz_id
-- ARGV[3] quantity, which counts only where a seed noted the attempt, and then as
--         far as the user's units from the seed allow
--
-- Returns 1 if it gave something back, 0 if there was nothing to give.
--
-- A missing key or another origin is 0: the next seed counts from SQL.

local origin, micros = server()
if not origin then return no_primary() end

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'origin', 'state', 'version')
if not trusted(origin, meta[2], meta[3]) then return 0 end
local stock, buyers = of_epoch(meta[1], 'stock'), of_epoch(meta[1], 'buyers')
local marker_and_note = redis.call('HMGET', buyers, '', ARGV[1])
local note = marker_and_note[2]
if not marker_and_note[1] or not note or redis.call('EXISTS', stock) == 0 then return 0 end

local loose, begin = string.match(note, '^(%d+)()')
for after, at, qty, biz_id in attempts(note, begin) do
  if biz_id == ARGV[2] then
    if qty == 0 then
      qty = math.min(tonumber(ARGV[3]), tonumber(loose))
      loose = loose - qty
    end
    local rest = string.sub(note, begin, at - 1) .. string.sub(note, after)
    if tonumber(loose) == 0 and rest == '' then
      redis.call('HDEL', buyers, ARGV[1])
    else
      redis.call('HSET', buyers, ARGV[1], string.format('%.0f', loose) .. rest)
    end
    redis.call('INCRBY', stock, qty)
    redis.call('HSET', KEYS[1], 'version', later(meta[4], micros))
    return 1
  end
end
return 0
