/**
 * What counts at the store. A counter is a hash or, of running calls, a sorted
 * set of leases. All scripts take the time as their first argument, 0 for the
 * store's own clock, which is the one clock that all replicas share.
 *
 * - sliding: `t` the total, `f` the first step that is kept, and the amount of
 *   each step under its number
 * - calendar: `s` the start of the period, `u` what was used
 * - running: a lease for each call, by when it ends
 *
 * Beside a counter of estimates stand its claims, what running calls may give back: a sliding
 * counter again, so that those of a gateway that was killed leave it.
 */
import { script } from "../redis/script.js";
import { calendar } from "./calendar.js";
import { claimedWaitMs, runningWaitMs, stepsPerWindow } from "./counts.js";

const common = `
local STEPS = ${stepsPerWindow}
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local function int(n) return string.format('%.0f', n) end

-- Total of a window and its current step, after dropping what has left it.
local function slide(key, stepMs)
  local step = math.floor(now / stepMs)
  local known = redis.call('HMGET', key, 't', 'f')
  local total, first = tonumber(known[1]), tonumber(known[2])
  if not total then return 0, step, nil end
  local keep = step - STEPS
  if first >= keep then return total, math.max(step, first), first end
  if first + STEPS < keep then
    redis.call('DEL', key)
    return 0, step, nil
  end
  local old = {}
  for i = first, keep - 1 do old[#old + 1] = int(i) end
  for _, amount in ipairs(redis.call('HMGET', key, unpack(old))) do
    total = total - (tonumber(amount) or 0)
  end
  redis.call('HDEL', key, unpack(old))
  redis.call('HSET', key, 't', int(total), 'f', int(keep))
  return total, step, keep
end

local function count(key, stepMs, step, first, amount)
  if not first then redis.call('HSET', key, 'f', int(step)) end
  redis.call('HINCRBY', key, 't', int(amount))
  redis.call('HINCRBY', key, int(step), int(amount))
  redis.call('PEXPIRE', key, int(stepMs * (STEPS + 2)))
end

-- Takes back, at most what is there, from the step of a time. The window has been slid.
local function take(key, stepMs, at, amount)
  local field = int(math.floor(at / stepMs))
  local less = math.min(amount, tonumber(redis.call('HGET', key, field) or 0))
  if less > 0 then
    redis.call('HINCRBY', key, field, int(-less))
    redis.call('HINCRBY', key, 't', int(-less))
  end
end
${calendar}`;

/**
 * Counts a call against all of its counters, or none.
 * KEYS: the reservation, then each counter and its claims. ARGV: time, life of the
 * reservation (0: it needs none), id of the call, life of a lease; then for each counter
 * its kind, limit, amount, the step or the name of the period, and the step of its claims
 * (0: it has none).
 * Answers: position of the counter that refused or 0, the wait or -1 for ever,
 * and for each counter what remains and when it is reset.
 */
export const reserveScript = script(`${common}
-- The question comes late, its call has ended without the answer.
if ARGV[2] ~= '0' and redis.call('EXISTS', KEYS[1]) == 1 then return { 0, 0 } end
local refused, wait = 0, 0
local function refuse(i, ms)
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
  local steps = {}
  for step = state.first, state.step do steps[#steps + 1] = int(step) end
  return redis.call('HMGET', state.key, unpack(steps))
end
local states = {}
for i = 1, (#KEYS - 1) / 2 do
  local key, claims, at = KEYS[2 * i], KEYS[2 * i + 1], 5 + (i - 1) * 5
  local kind, limit, amount = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local state = { key = key, kind = kind, limit = limit, amount = amount, reset = 0 }
  state.claims, state.claimStep = claims, tonumber(ARGV[at + 4])
  states[i] = state
  if kind == 's' then
    local p = tonumber(ARGV[at + 3])
    state.p, state.total, state.step, state.first = p, slide(key, p)
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
    state.period = period(key, ARGV[at + 3])
    state.total, state.reset = state.period.used, state.period.stop - now
    if amount > limit then refuse(i, -1)
    elseif state.total + amount > limit then refuseFor(i, state, state.reset) end
  else
    redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now))
    state.total = redis.call('ZCARD', key)
    if amount > limit then refuse(i, -1)
    elseif state.total + amount > limit then refuse(i, ${runningWaitMs}) end
  end
end
local answer = { refused, math.ceil(wait) }
for i, state in ipairs(states) do
  if refused == 0 then
    state.total = state.total + state.amount
    if state.kind == 's' then
      count(state.key, state.p, state.step, state.first, state.amount)
      state.last = state.step
    elseif state.kind == 'c' then
      keep(state.key, state.period, state.total, state.claims)
    else
      local lease = tonumber(ARGV[4])
      redis.call('ZADD', state.key, int(now + lease), ARGV[3])
      redis.call('PEXPIRE', state.key, int(2 * lease))
    end
    if state.claimStep > 0 then
      local _, step, first = slide(state.claims, state.claimStep)
      count(state.claims, state.claimStep, step, first, state.amount)
    end
  elseif state.kind == 's' and state.total > 0 then
    for n, counted in ipairs(stepsOf(state)) do
      if counted then state.last = state.first + n - 1 end
    end
  end
  if state.kind == 's' and state.last then
    state.reset = (state.last + STEPS + 1) * state.p - now
  elseif state.total == 0 then state.reset = 0 end
  answer[#answer + 1] = math.max(state.limit - state.total, 0)
  answer[#answer + 1] = math.ceil(state.reset)
end
if refused == 0 and ARGV[2] ~= '0' then redis.call('SET', KEYS[1], int(now), 'PX', ARGV[2]) end
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
local known = redis.call('GET', KEYS[1])
local at = tonumber(known or nil)
local unsure = ARGV[3] ~= '0'
if unsure then redis.call('SET', KEYS[1], 'done', 'PX', ARGV[3])
else redis.call('DEL', KEYS[1]) end
for i = 1, (#KEYS - 1) / 2 do
  local key, claims, a = KEYS[2 * i], KEYS[2 * i + 1], 4 + (i - 1) * 5
  local kind, more, took = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local p, claimStep = ARGV[a + 3], tonumber(ARGV[a + 4])
  if unsure and not known and kind == 'c' then
    local state = period(key, p)
    keep(key, state, state.used + took, claims)
  elseif kind == 'r' then
    redis.call('ZREM', key, ARGV[2])
  elseif at and kind == 's' then
    local stepMs = tonumber(p)
    local total, step, first = slide(key, stepMs)
    if more > 0 then
      count(key, stepMs, step, first, more)
    else
      take(key, stepMs, at, -more)
    end
  elseif at and kind == 'c' then
    local state = period(key, p)
    if more > 0 or at >= state.start then
      keep(key, state, math.max(0, state.used + more), claims)
    end
  end
  if at and claimStep > 0 then
    slide(claims, claimStep)
    take(claims, claimStep, at, took - more)
  end
end
return at and 1 or 0
`);

/**
 * Adds what was used while the store was away to calendar counters, once.
 * KEYS: the name of this addition, then the counters. ARGV: time; then for each
 * counter its amount, the name of its period, and how long ago that was.
 */
export const chargeScript = script(`${common}
if not redis.call('SET', KEYS[1], '1', 'PX', 3600000, 'NX') then return 0 end
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
  redis.call('ZADD', key, int(now + lease), ARGV[i + 2])
  redis.call('PEXPIRE', key, int(2 * lease))
end
return 1
`);
