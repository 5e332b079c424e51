-- Looks at a sale without changing anything.
--
-- KEYS[1] rg:{item}:meta; stock and buyers are those of the epoch in it
-- ARGV[1] 1 to read the buyers too
--
-- Returns {epoch, 1 if stale, stock, admitted_at in ms, version} and, if asked for,
-- buyers: user and note in turn, with the seed's marker among them.
--
-- A missing meta is {0, 1}; a missing stock or buyers, a buyers hash without the
-- marker, or another origin is {epoch, 1}.

local origin = server()
if not origin then return no_primary() end

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'origin', 'state', 'admitted_at', 'version')
if not meta[1] then return {0, 1} end
local stale = {tonumber(meta[1]), 1}
if not trusted(origin, meta[2], meta[3]) then return stale end
local stock, buyers = redis.call('GET', of_epoch(meta[1], 'stock')), of_epoch(meta[1], 'buyers')
if not stock or redis.call('HEXISTS', buyers, '') == 0 then return stale end

local reply = {tonumber(meta[1]), 0, tonumber(stock), tonumber(meta[4]), tonumber(meta[5])}
if ARGV[1] == '1' then reply[6] = redis.call('HGETALL', buyers) end
return reply
