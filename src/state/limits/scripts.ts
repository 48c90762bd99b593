/**
 * What counts at the store. A counter is a hash or, of running calls, a sorted
 * set of leases. Scripts that count take the time as their first argument, 0 for the
 * store's own clock, which is the one clock that all replicas share.
 *
 * - sliding: `t` the total, `f` the first step that is kept, and the amount of
 *   each step under its number
 * - calendar: `s` the start of the period, `u` what was used, `ls` and `lu` of the one that it left last. Of a lifetime what running calls claim is not in it:
 *   what those of a gateway that was killed had reserved would be used for good
 * - running: a lease for each call, by when it ends
 *
 * Beside a counter of estimates stand its claims, what running calls may give back: a sliding
 * counter again, so that those of a gateway that was killed leave it.
 */
import { script } from "../redis/script.js";
import { calendar } from "./calendar.js";
import { claimedWaitMs, runningWaitMs } from "./counts.js";
import { sliding } from "./sliding.js";

const common = `
local call, floor, format = redis.call, math.floor, string.format
local now = tonumber(ARGV[1])
if now == 0 then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000 + floor(tonumber(time[2]) / 1000)
end

-- A whole number as text. Lua's own has 14 digits, and numbers that are left to Redis take it longer
-- than the command. So does '%.0f', but '%d' ends at 2^31 where the machine has 32 bits.
local function int(n)
  if n < 2147483648 then return format('%d', n) end
  return format('%.0f', n)
end

${sliding}${calendar}
-- What counts of a period. What calls claim of a lifetime stands beside it alone.
local function usedOf(state, claims, claimStep)
  if state.stop < NEVER then return state.used end
  return state.used + slide(claims, claimStep)
end

-- A time as answers have it: there is no number for never.
local function told(ms)
  if ms == NEVER then return -1 end
  return math.ceil(ms)
end
`;

/**
 * Counts a call against all of its counters, or none.
 * KEYS: the reservation, then each counter and its claims. ARGV: time, life of the
 * reservation (0: it needs none), id of the call, life of a lease; then for each counter
 * its kind, limit, amount, the step or the name of the period, and the step of its claims
 * (0: it has none).
 * Answers: position of the counter that refused or 0, the wait or -1 for ever,
 * and for each counter what remains and when it is reset or -1 for never.
 */
export const reserveScript = script(`${common}
local refused, wait = 0, 0
local function refuse(i, ms)
  if ms == NEVER then ms = -1 end
  if wait >= 0 and (ms < 0 or ms > wait) then refused, wait = i, ms end
end
-- Refuses for a short while where only claims are in the way.
local function refuseFor(i, state, ms)
  if state.claimStep > 0 then
    local claimed = slide(state.claims, state.claimStep)
    if state.total - claimed + state.amount <= state.limit then
      ms = math.min(ms, ${claimedWaitMs})
    end
  end
  refuse(i, ms)
end
-- What was counted in each step of a window that has counted something; false: nothing.
local function stepsOf(state)
  if not state.steps then
    local steps = {}
    for step = state.first, state.step do steps[#steps + 1] = int(step) end
    state.steps = call('HMGET', state.key, unpack(steps))
  end
  return state.steps
end
local states = {}
for i = 1, (#KEYS - 1) / 2 do
  local key, at = KEYS[2 * i], 5 + (i - 1) * 5
  local kind, limit, amount = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  -- With all of its fields at once: a table that grows is made anew each time.
  local state = {
    key = key, kind = kind, limit = limit, amount = amount, total = 0, reset = 0,
    claims = KEYS[2 * i + 1], claimStep = tonumber(ARGV[at + 4]),
    p = false, step = false, first = false, counted = false,
  }
  states[i] = state
  if kind == 's' then
    local p = tonumber(ARGV[at + 3])
    state.p, state.total, state.step, state.first, state.counted = p, slide(key, p)
    if amount > limit then refuse(i, -1)
    elseif state.total + amount > limit then
      local excess, leaves = state.total + amount - limit, nil
      for n, counted in ipairs(stepsOf(state)) do
        excess = excess - (tonumber(counted) or 0)
        if excess <= 0 and not leaves then leaves = state.first + n - 1 end
      end
      refuseFor(i, state, ((leaves or state.step) + STEPS + 1) * p - now)
    end
  elseif kind == 'c' then
    state.p = period(key, ARGV[at + 3])
    state.total, state.reset = usedOf(state.p, state.claims, state.claimStep), state.p.stop - now
    if amount > limit then refuse(i, -1)
    elseif state.total + amount > limit then refuseFor(i, state, state.reset) end
  else
    call('ZREMRANGEBYSCORE', key, '-inf', int(now))
    state.total = call('ZCARD', key)
    if amount > limit then refuse(i, -1)
    elseif state.total + amount > limit then refuse(i, ${runningWaitMs}) end
  end
end
-- The question comes late where there is one already: its call has ended without the answer.
if refused == 0 and ARGV[2] ~= '0'
  and not call('SET', KEYS[1], int(now), 'PX', ARGV[2], 'NX') then return { 0, 0 } end
local answer = { refused, math.ceil(wait) }
for i, state in ipairs(states) do
  local key, kind, total, reset = state.key, state.kind, state.total, state.reset
  local last
  if refused == 0 then
    local amount, claims, claimStep = state.amount, state.claims, state.claimStep
    if kind == 's' then
      count(key, state.p, amount, total, state.step, state.first, state.counted)
      last = state.step
    elseif kind == 'c' then
      if state.p.stop < NEVER then keep(key, state.p, total + amount, claims) end
    else
      local lease = tonumber(ARGV[4])
      call('ZADD', key, int(now + lease), ARGV[3])
      call('PEXPIRE', key, int(2 * lease))
    end
    total = total + amount
    if claimStep > 0 then count(claims, claimStep, amount, slide(claims, claimStep)) end
  elseif kind == 's' and total > 0 then
    for n, counted in ipairs(stepsOf(state)) do
      if counted then last = state.first + n - 1 end
    end
  end
  if last then reset = (last + STEPS + 1) * state.p - now
  elseif total == 0 then reset = 0 end
  answer[2 * i + 1] = math.max(state.limit - total, 0)
  answer[2 * i + 2] = told(reset)
end
return answer
`);

/**
 * Tells how counters stand, and counts nothing.
 * KEYS: each counter and its claims. ARGV: time; then for each counter its kind, limit, the step or the
 * name of the period, and the step of its claims.
 * Answers for each counter what remains, and when it is reset; of a period, when that ends, -1 for never.
 */
export const peekScript = script(`${common}
local answer = {}
for i = 1, #KEYS / 2 do
  local key, a = KEYS[2 * i - 1], 2 + (i - 1) * 4
  local kind, limit, p = ARGV[a], tonumber(ARGV[a + 1]), ARGV[a + 2]
  local total, reset = 0, 0
  if kind == 's' then
    local stepMs, step, first = tonumber(p), nil, nil
    total, step, first = slide(key, stepMs)
    if total > 0 then
      local last, steps = step, {}
      for n = first, step do steps[#steps + 1] = int(n) end
      for n, counted in ipairs(call('HMGET', key, unpack(steps))) do
        if counted then last = first + n - 1 end
      end
      reset = (last + STEPS + 1) * stepMs - now
    end
  elseif kind == 'c' then
    local state = period(key, p)
    total, reset = usedOf(state, KEYS[2 * i], tonumber(ARGV[a + 3])), state.stop - now
  else
    total = call('ZCOUNT', key, '(' .. int(now), '+inf')
  end
  answer[2 * i - 1] = math.max(limit - total, 0)
  answer[2 * i] = told(reset)
end
return answer
`);

/**
 * Puts the counts of a call right, once: without its reservation nothing but its
 * leases is touched. Where nobody knows whether there ever was a reservation,
 * calendar counters get the whole amount in its absence.
 * KEYS: the reservation, then each counter and its claims. ARGV: time, id of the call,
 * life of the mark that this was done (0: it was surely reserved); then for each counter
 * its kind, the difference, the whole amount, the step or the name of the period, and the
 * step of its claims (0: it has none).
 */
export const settleScript = script(`${common}
local known = call('GET', KEYS[1])
local at = tonumber(known or nil)
local unsure = ARGV[3] ~= '0'
if unsure then call('SET', KEYS[1], 'done', 'PX', ARGV[3])
else call('DEL', KEYS[1]) end
for i = 1, (#KEYS - 1) / 2 do
  local key, claims, a = KEYS[2 * i], KEYS[2 * i + 1], 4 + (i - 1) * 5
  local kind, more, took = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local p, claimStep = ARGV[a + 3], tonumber(ARGV[a + 4])
  if unsure and not known and kind == 'c' then
    local state = period(key, p)
    keep(key, state, state.used + took, claims)
  elseif kind == 'r' then
    call('ZREM', key, ARGV[2])
  elseif at and kind == 's' then
    local stepMs = tonumber(p)
    if more > 0 then count(key, stepMs, more, slide(key, stepMs))
    else take(key, stepMs, at, -more) end
  elseif at and kind == 'c' then
    local state = period(key, p)
    if state.stop == NEVER then
      if took > 0 then keep(key, state, state.used + took) end
    elseif more > 0 or has(key, state, at) then
      keep(key, state, math.max(0, state.used + more), claims)
    end
  end
  if at and claimStep > 0 then take(claims, claimStep, at, took - more) end
end
return at and 1 or 0
`);

/**
 * Adds what was used while the store was away to calendar counters, once.
 * KEYS: the name of this addition, then the counters. ARGV: time; then for each
 * counter its amount, the name of its period, and how long ago that was.
 */
export const chargeScript = script(`${common}
if not call('SET', KEYS[1], '1', 'PX', DAY, 'NX') then return 0 end
for i = 1, #KEYS - 1 do
  local key, a = KEYS[i + 1], 2 + (i - 1) * 3
  local state = period(key, ARGV[a + 1])
  if now - tonumber(ARGV[a + 2]) >= state.start then
    keep(key, state, state.used + tonumber(ARGV[a]))
  end
end
return 1
`);

/**
 * Prolongs leases, and gives back those that the store lost.
 * KEYS: the counters. ARGV: time, life of a lease; then the id of the call for each counter.
 */
export const renewScript = script(`${common}
local lease = tonumber(ARGV[2])
for i, key in ipairs(KEYS) do
  call('ZADD', key, int(now + lease), ARGV[i + 2])
  call('PEXPIRE', key, int(2 * lease))
end
return 1
`);
