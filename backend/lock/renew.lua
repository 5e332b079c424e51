-- Sets the lock's time to live anew, for the token that holds it and for no other. It
-- never makes the key: a lock that ran out may have had another holder meanwhile.
--
-- KEYS[1] rg:{item}:lock
-- ARGV[1] token   ARGV[2] time to live in ms
--
-- Returns 1 done, 2 another token holds the lock, 3 nobody does: the key is missing.

local holder = redis.call('GET', KEYS[1])
if not holder then return 3 end
if holder ~= ARGV[1] then return 2 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
