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

-- What the argument of a counter says, which is the name of its period, and where the calendar is not UTC's how far clocks
-- are ahead of it, and by turns from when on and how far they are then.
local calendars = {}
local function calendarOf(argument)
  local calendar = calendars[argument]
  if calendar then return calendar end
  local blank = string.find(argument, ' ', 1, true)
  if blank then
    calendar = { kind = string.sub(argument, 1, blank - 1) }
    for n in string.gmatch(argument, '-?%d+') do calendar[#calendar + 1] = tonumber(n) end
  else
    calendar = { 0, kind = argument }
  end
  calendars[argument] = calendar
  return calendar
end

-- The first moment at which clocks say a day's date, or a later one.
local function beginOf(calendar, day)
  local i = 1
  while true do
    local at = day * DAY - calendar[i]
    if i > 1 then at = math.max(at, calendar[i - 1]) end
    if not calendar[i + 1] or at < calendar[i + 1] then return at end
    i = i + 2
  end
end

-- The period that a time lies in: its start, and the start of the next.
local function periodAt(argument, at)
  local calendar = calendarOf(argument)
  local kind, i = calendar.kind, 1
  if kind == 'lifetime' then return 0, NEVER end
  while calendar[i + 1] and at >= calendar[i + 1] do i = i + 2 end
  local ahead = calendar[i]
  if kind == 'hour' then
    local start = floor((at + ahead) / 3600000) * 3600000 - ahead
    return start, start + 3600000
  end
  local days = floor((at + ahead) / DAY)
  local first, following = days, days + 1
  if kind == 'week' then
    -- The epoch was a Thursday; weeks begin on Mondays.
    first = floor((days - 4) / 7) * 7 + 4
    following = first + 7
  elseif kind == 'month' then
    local month = floor(days / 30.436875)
    first, following = firstOf(month), firstOf(month + 1)
    while following <= days do
      month, first, following = month + 1, following, firstOf(month + 2)
    end
    while first > days do
      month, first, following = month - 1, firstOf(month - 1), first
    end
  end
  local stop = beginOf(calendar, following)
  -- Clocks that went back beyond midnight say the day before again: its next has begun all the same.
  if at >= stop then return periodAt(argument, stop) end
  return beginOf(calendar, first), stop
end

-- How a counter stands. Nothing is written: a call that is refused leaves nothing behind.
-- A clock that was set back brings no new period. It leapt ahead before: the one that it left then goes on.
-- By less than a period otherwise: this one goes on. Further back: what was used counts in the one that the clock says.
-- What was counted by another calendar counts in the period of this one in whose middle that was.
local function period(key, kind)
  local start, stop = periodAt(kind, now)
  local known = call('HMGET', key, 's', 'u')
  local since, used = tonumber(known[1] or nil), tonumber(known[2] or nil)
  if since == start then
    return { start = start, stop = stop, used = used, fresh = false, known = true }
  end
  if since then
    local from, to = periodAt(kind, since)
    if from ~= since and periodAt(kind, since + (to - from) / 2) == start then
      return { start = start, stop = stop, used = used, fresh = false }
    end
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
