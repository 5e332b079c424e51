-- Gives the lock back, for the token that holds it and for no other, and wakes those
-- who wait: they listen on the channel that has the key's name.
--
-- KEYS[1] rg:{item}:lock
-- ARGV[1] token
--
-- Returns 1 done, 2 another token holds the lock, 3 nobody does: the key is missing.

local holder = redis.call('GET', KEYS[1])
if not holder then return 3 end
if holder ~= ARGV[1] then return 2 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[1], '')
return 1
