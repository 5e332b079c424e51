-- Writes some of a new epoch's buyers aside, where no other script looks.
--
-- KEYS[1] rg:{item}:<epoch>:buyers:<seeder>
-- ARGV[1] for how many ms they stay unless more are written or the epoch is opened
-- ARGV[2..] field and value in turn: user and note, or '' and 1, the marker that
--           comes with the last ones
--
-- Returns 1. A missing key is the first write.

redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
