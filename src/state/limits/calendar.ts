/** What calendar counters do at the store, as the beginning of its scripts. */

/**
 * Wants `now`, milliseconds since the epoch, and `int`. The store's clock alone says which period
 * it is: a replica's, set wrong, would end everybody's.
 */
export const calendar = `
local DAY = 86400000
local lengths = { hour = 3600000, day = DAY, week = 7 * DAY }

-- The days from the epoch to the first of a month, which is told in months since the epoch.
-- Years begin in March here, so that the odd day is their last.
local function firstOf(month)
  local y, m = 1970 + math.floor((month - 2) / 12), (month - 2) % 12
  local leap = math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400)
  return 365 * y + leap + math.floor((153 * m + 2) / 5) - 719468
end

-- The period in UTC that a time lies in: its start, and the start of the next.
local function periodAt(kind, at)
  if kind == 'month' then
    local days = math.floor(at / DAY)
    local month = math.floor(days / 30.436875)
    while firstOf(month + 1) <= days do month = month + 1 end
    while firstOf(month) > days do month = month - 1 end
    return firstOf(month) * DAY, firstOf(month + 1) * DAY
  end
  -- The epoch was a Thursday; weeks begin on Mondays.
  local length, offset = lengths[kind], kind == 'week' and 4 * DAY or 0
  local start = math.floor((at - offset) / length) * length + offset
  return start, start + length
end

-- How a counter stands. Nothing is written: a call that is refused leaves nothing behind.
-- A clock that was set back brings no new period. By less than one: that one goes on.
-- Further back: what was used counts in the one that the clock says.
local function period(key, kind)
  local start, stop = periodAt(kind, now)
  local known = redis.call('HMGET', key, 's', 'u')
  local since, used = tonumber(known[1] or nil), tonumber(known[2] or nil)
  if not since or since < start then
    return { start = start, stop = stop, used = 0, fresh = true }
  end
  local from, to = periodAt(kind, since)
  if now >= from - (to - from) then start, stop = from, to end
  return { start = start, stop = stop, used = used }
end

local function keep(key, state, used, claims)
  if state.fresh and claims then redis.call('DEL', claims) end
  redis.call('HSET', key, 's', int(state.start), 'u', int(used))
  redis.call('PEXPIRE', key, int(math.max(state.stop - now, 0) + DAY))
end
`;
