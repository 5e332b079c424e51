-- Opens an epoch whose buyers were written aside, only forward, and drops the one
-- before it.
--
-- KEYS[1] rg:{item}:meta
-- KEYS[2] rg:{item}:<epoch>:stock    KEYS[3] rg:{item}:<epoch>:buyers
-- KEYS[4] rg:{item}:<epoch>:buyers:<seeder>, what was written aside
-- ARGV[1] epoch    ARGV[2] starts_at    ARGV[3] ends_at, both in ms
-- ARGV[4] per_user    ARGV[5] state: open or paused    ARGV[6] stock
-- ARGV[7] for how many ms after ends_at the keys stay
-- ARGV[8] how many fields were written aside, with the marker
--
-- Returns 1 if the epoch is open, 0 if this epoch or a later one was, whatever its
-- origin, and -1 if what was written aside isn't all there any more.
--
-- A missing meta is older than every epoch.

local OPENED, OLDER, LOST = 1, 0, -1

local origin, micros = server()
if not origin then return no_primary() end

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'version')
if meta[1] and tonumber(meta[1]) >= tonumber(ARGV[1]) then
  redis.call('UNLINK', KEYS[4])
  return OLDER
end
if redis.call('HLEN', KEYS[4]) ~= tonumber(ARGV[8]) or redis.call('HEXISTS', KEYS[4], '') == 0 then return LOST end

-- Setting an expiry that has passed deletes, so a sale that is long over leaves
-- nothing behind.
local expires = tonumber(ARGV[3]) + tonumber(ARGV[7])
if meta[1] then redis.call('UNLINK', of_epoch(meta[1], 'stock'), of_epoch(meta[1], 'buyers')) end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('RENAME', KEYS[4], KEYS[3])
redis.call('SET', KEYS[2], ARGV[6])
redis.call('HSET', KEYS[1],
  'epoch', ARGV[1], 'origin', origin, 'starts_at', ARGV[2], 'ends_at', ARGV[3], 'per_user', ARGV[4],
  'state', ARGV[5], 'mode', 'sync', 'closed_by', 0, 'version', later(meta[2], micros), 'admitted_at', 0)
for i = 1, 3 do redis.call('PEXPIREAT', KEYS[i], expires) end
return OPENED
