/** What sliding counters do at the store, as the beginning of its scripts. */
import { stepsPerWindow } from "./sliding-count.js";

/** Wants `now`, milliseconds since the epoch, `int`, and the names `call` and `floor` for `redis.call` and `math.floor`. */
export const sliding = `
local STEPS = ${stepsPerWindow}

-- The field of a step. Most counters of a call are in the same.
local named, name
local function fieldOf(step)
  if step ~= named then named, name = step, int(step) end
  return name
end

-- Total of a window, its current step, the first that is kept (nil: nothing was counted), and
-- what was counted in the current step or in the one that is asked for (nil: nothing); after
-- dropping what has left it.
local function slide(key, stepMs, asked)
  local step = floor(now / stepMs)
  local known = call('HMGET', key, 't', 'f', fieldOf(asked or step))
  local total, first, counted = tonumber(known[1]), tonumber(known[2]), tonumber(known[3])
  if not total then return 0, step end
  local keep = step - STEPS
  if first >= keep then
    if asked or first <= step then return total, step, first, counted end
    -- The clock was set back.
    return total, first, first, tonumber(call('HGET', key, fieldOf(first)))
  end
  if first + STEPS < keep then
    call('DEL', key)
    return 0, step
  end
  local old = {}
  for i = first, keep - 1 do old[#old + 1] = int(i) end
  for _, amount in ipairs(call('HMGET', key, unpack(old))) do
    total = total - (tonumber(amount) or 0)
  end
  call('HDEL', key, unpack(old))
  call('HSET', key, 't', int(total), 'f', int(keep))
  if asked and asked < keep then counted = nil end
  return total, step, keep, counted
end

-- Adds to a window that has been slid. The key's life begins anew with each step, and not with each
-- call: it has a window more than what is counted, for a clock that is set back and comes to steps again
-- in which it has begun already.
local function count(key, stepMs, amount, total, step, first, counted)
  local field = fieldOf(step)
  local there = int((counted or 0) + amount)
  if first then call('HSET', key, 't', int(total + amount), field, there)
  else call('HSET', key, 't', there, 'f', field, field, there) end
  if not counted or step * stepMs > now then
    call('PEXPIRE', key, int(stepMs * (2 * STEPS + 2)))
  end
end

-- Takes back, at most what is there, from the step of a time.
local function take(key, stepMs, at, amount)
  local asked = floor(at / stepMs)
  local total, _, _, counted = slide(key, stepMs, asked)
  local less = math.min(amount, counted or 0)
  if less > 0 then call('HSET', key, 't', int(total - less), fieldOf(asked), int(counted - less)) end
end
`;
