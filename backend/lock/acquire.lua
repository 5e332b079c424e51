-- Takes the lock for a token, or says how long its holder can have it.
--
-- KEYS[1] rg:{item}:lock
-- ARGV[1] token   ARGV[2] time to live in ms
--
-- Returns 0 where the token has the lock now, its time to live set anew. Else the
-- milliseconds that the holder has left, at least 1, and -1 where its key has no end.
-- A missing key is a lock that nobody holds.
--
-- A plain SET NX would do but for a lost reply: sent again it finds the key taken, and
-- can't tell that the taker was the same token. SET NX GET can, but neither sets the
-- time to live anew nor tells how long another holder has left.

if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 0
end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then return -1 end
return math.max(left, 1)
