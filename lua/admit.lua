-- Decides a batch of requests for one item, in order and by one reading of the
-- clock. Made twice it changes nothing the second time: it says "again".
--
-- KEYS[1] rg:{item}:meta
-- KEYS[2] rg:{item}:<epoch>:stock    KEYS[3] rg:{item}:<epoch>:buyers
-- ARGV[1] the caller's epoch
-- ARGV[2] the version of the buyers that the caller knows, 0 for none
-- ARGV[3] n, how many users follow, each once
-- ARGV[4..3+n] the users
-- ARGV[4+n..] three for each request: its user's number (1..n), biz_id, quantity
--
-- Returns {verdicts, units left, now in ms, version} and, where a verdict is
-- sold_out and the version is not the caller's, the fields of buyers with the
-- seed's marker among them. Verdicts is a string with a digit for each request.
--
-- A missing key, a buyers hash without the seed's marker, another epoch or another
-- origin makes every verdict stale, with 0 units and version 0: missing is never
-- zero.

local STALE, AGAIN, NOT_STARTED, ENDED, PAUSED, DUPLICATE, SOLD_OUT, ADMITTED = '1', '2', '3', '4', '5', '6', '7', '8'

local origin, micros = server()
if not origin then return no_primary() end
local now = math.floor(micros / 1000)

local users = tonumber(ARGV[3])
local first = 4 + users
local function stale() return {string.rep(STALE, (#ARGV - first + 1) / 3), 0, now, 0} end

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'origin', 'state', 'starts_at', 'ends_at', 'per_user', 'version')
if meta[1] ~= ARGV[1] or not trusted(origin, meta[2], meta[3]) then return stale() end
local left = tonumber(redis.call('GET', KEYS[2]))
local notes = redis.call('HMGET', KEYS[3], '', unpack(ARGV, 4, first - 1))
if not left or not notes[1] then return stale() end

local shut -- window and pause say the same to the whole batch
if now < tonumber(meta[4]) then shut = NOT_STARTED
elseif now >= tonumber(meta[5]) then shut = ENDED
elseif meta[3] == 'paused' then shut = PAUSED end
local per_user, version = tonumber(meta[6]), tonumber(meta[7])

-- seen returns the units that a note holds, and whether it has the attempt.
local function seen(note, biz_id)
  local loose, begin = string.match(note, '^(%d+)()')
  local held, noted = tonumber(loose), false
  for _, _, qty, id in attempts(note, begin) do
    held = held + qty
    noted = noted or id == biz_id
  end
  return held, noted
end

local verdicts, told, taken, sold_out = {}, 0, 0, false
local changed, last, place = {}, 0, {} -- user and note in turn; where a user's note stands

-- The loop calls nothing for a user without a note, which is most of a rush.
for i = first, #ARGV, 3 do
  local user, biz_id, qty = tonumber(ARGV[i]), ARGV[i + 1], tonumber(ARGV[i + 2])
  local note, held, noted = notes[user + 1], 0, false
  if note then held, noted = seen(note, biz_id) end
  told = told + 1
  if noted then verdicts[told] = AGAIN
  elseif shut then verdicts[told] = shut
  elseif qty > per_user - held then verdicts[told] = DUPLICATE
  elseif qty > left then
    verdicts[told], sold_out = SOLD_OUT, true
  else
    verdicts[told] = ADMITTED
    left, taken = left - qty, taken + qty
    note = (note or '0') .. ';' .. ARGV[i + 2] .. ',' .. #biz_id .. ':' .. biz_id
    notes[user + 1] = note
    local at = place[user]
    if not at then
      at, last = last + 2, last + 2
      changed[at - 1], place[user] = ARGV[3 + user], at
    end
    changed[at] = note
  end
end

if taken > 0 then
  version = later(version, micros)
  redis.call('HSET', KEYS[3], unpack(changed))
  redis.call('DECRBY', KEYS[2], taken)
  redis.call('HSET', KEYS[1], 'version', version, 'admitted_at', now)
end

local reply = {table.concat(verdicts), left, now, version}
if sold_out and version ~= tonumber(ARGV[2]) then reply[5] = redis.call('HKEYS', KEYS[3]) end
return reply
