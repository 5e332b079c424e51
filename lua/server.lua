-- Stands before every script that decides: what it asks of the server.

-- server returns the identity of the server and its clock in microseconds.
-- The identity is master_replid, which a restart, a promotion and a way back all
-- change; run_id misses the last. A replica shows its primary's, so it has none
-- here: it may lag, and must not decide.
local function server()
  local info = redis.call('INFO', 'replication')
  local time = redis.call('TIME')
  local origin = string.find(info, 'role:master', 1, true) and string.match(info, 'master_replid:(%x+)')
  return origin, time[1] * 1000000 + time[2]
end

local function no_primary()
  return redis.error_reply('READONLY this server is a replica or has no master_replid; ask the primary')
end

-- trusted says that a sale was seeded into this very server, and completely.
local function trusted(origin, seeded, state)
  return seeded == origin and (state == 'open' or state == 'paused')
end

-- of_epoch names a key of an epoch from the name of meta, so that it shares the
-- hash tag. Where the caller knows the epoch, the keys are in KEYS instead.
local function of_epoch(epoch, name)
  return string.sub(KEYS[1], 1, -5) .. epoch .. ':' .. name
end

-- later is the version after a change of the buyers. It follows the clock, so that
-- it goes on rising when the version before is lost.
local function later(version, micros)
  return math.max(tonumber(version or 0) + 1, micros)
end
