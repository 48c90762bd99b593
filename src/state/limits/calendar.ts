/** What calendar counters do at the store, as the beginning of its scripts. */
import { slackMs } from "./calendar-count.js";

/**
 * Wants `now`, milliseconds since the epoch, `int`, and the names `call` and `floor` for `redis.call` and
 * `math.floor`. The store's clock alone says which period it is: a replica's, set wrong, would end everybody's.
 */
export const calendar = `
local DAY = 86400000
local SLACK = ${slackMs}
-- When a lifetime ends, and what never comes is away.
local NEVER = math.huge

-- The days from the epoch to the first of a month, which is told in months since the epoch.
-- Years begin in March here, so that the odd day is their last.
local function firstOf(month)
  local y, m = 1970 + floor((month - 2) / 12), (month - 2) % 12
  local leap = floor(y / 4) - floor(y / 100) + floor(y / 400)
  return 365 * y + leap + floor((153 * m + 2) / 5) - 719468
end

-- The period in UTC that a time lies in: its start, and the start of the next.
local function periodAt(kind, at)
  if kind == 'lifetime' then return 0, NEVER end
  if kind == 'month' then
    local days = floor(at / DAY)
    local month = floor(days / 30.436875)
    local first, following = firstOf(month), firstOf(month + 1)
    while following <= days do
      month, first, following = month + 1, following, firstOf(month + 2)
    end
    while first > days do
      month, first, following = month - 1, firstOf(month - 1), first
    end
    return first * DAY, following * DAY
  end
  -- The epoch was a Thursday; weeks begin on Mondays.
  local length, offset = DAY, 0
  if kind == 'hour' then length = 3600000
  elseif kind == 'week' then length, offset = 7 * DAY, 4 * DAY end
  local start = floor((at - offset) / length) * length + offset
  return start, start + length
end

-- How a counter stands. Nothing is written: a call that is refused leaves nothing behind.
-- A clock that was set back brings no new period. It leapt ahead before: the one that it left then goes on.
-- By less than a period otherwise: this one goes on. Further back: what was used counts in the one that the clock says.
local function period(key, kind)
  local start, stop = periodAt(kind, now)
  local known = call('HMGET', key, 's', 'u')
  local since, used = tonumber(known[1] or nil), tonumber(known[2] or nil)
  if since == start then
    return { start = start, stop = stop, used = used, fresh = false, known = true }
  end
  if since and (since < start or now < since - SLACK) then
    local left = call('HMGET', key, 'ls', 'lu')
    if tonumber(left[1] or nil) == start then
      return { start = start, stop = stop, used = tonumber(left[2]), fresh = false, since = since, had = used }
    end
  end
  if not since or since < start then
    return { start = start, stop = stop, used = 0, fresh = true, since = since, had = used }
  end
  local from, to = periodAt(kind, since)
  local goes = now >= from - (to - from)
  if goes then start, stop = from, to end
  return { start = start, stop = stop, used = used, fresh = false, known = goes }
end

-- Whether what was counted at a time is in what a period has, and not in a later one that was left again.
local function has(key, state, at)
  if at < state.start then return false end
  if at < state.stop then return true end
  local later = state.since or tonumber(call('HGET', key, 'ls') or nil) or 0
  return later <= state.start
end

-- The key's life ends at a time that depends on the period alone: it is said once. That of a lifetime
-- does not end, nor does what running calls claim of it.
local function keep(key, state, used, claims)
  if state.known then
    call('HSET', key, 'u', int(used))
    return
  end
  call('HSET', key, 's', int(state.start), 'u', int(used))
  if state.since then call('HSET', key, 'ls', int(state.since), 'lu', int(state.had)) end
  if state.stop == NEVER then return end
  if state.fresh and claims then call('DEL', claims) end
  call('PEXPIRE', key, int(math.max(state.stop - now, 0) + DAY))
end
`;
