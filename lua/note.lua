-- Stands before the scripts that read notes: what is kept of one buyer.
--
-- A note is the number of units that came with a seed, which doesn't say which
-- attempt holds how many, followed by the attempts: ";quantity,length:biz_id",
-- with quantity 0 for an attempt of the seed. The length lets a biz_id hold any
-- byte, and a new attempt is appended without reading the others.

-- attempts goes through a note's attempts from the place where they begin: the
-- place of each, its quantity, its biz_id, and the place after it.
local function attempts(note, begin)
  return function(_, at)
    if at > #note then return nil end
    local qty, len, from = string.match(note, '^;(%d+),(%d+):()', at)
    local after = from + len
    return after, at, tonumber(qty), string.sub(note, from, after - 1)
  end, nil, begin
end
