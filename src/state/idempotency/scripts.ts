/**
 * First answers at the store. Under the name of a call stands a hash (`p` the
 * print, `s` the state, `o` who runs it, `n` how many parts there are, `f` when
 * somebody who asked again looked last) and, beside it, the list of parts. One
 * is worth nothing without the other: a store that is full may evict either.
 * While a call runs, both live by a lease.
 */
import { script } from "../redis/script.js";

const now = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`;

/** KEYS: hash, list. ARGV: print, owner, lease. Answers: `first`, `again`, `other` or `large`. */
export const openScript = script(`
local known = redis.call('HMGET', KEYS[1], 'p', 's')
if not known[1] then
  redis.call('DEL', KEYS[2])
  redis.call('HSET', KEYS[1], 'p', ARGV[1], 's', 'running', 'o', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return 'first'
end
if known[1] ~= ARGV[1] then return 'other' end
if known[2] == 'large' then return 'large' end
return 'again'
`);

/**
 * KEYS: hash, list. ARGV: owner, new state or empty, life, then parts.
 * Answers 0 where somebody else owns it by now, or nobody; 2 where somebody
 * looked in the last 5 seconds; else 1.
 */
export const writeScript = script(`${now}
local known = redis.call('HMGET', KEYS[1], 'o', 'f')
if known[1] ~= ARGV[1] then return 0 end
if ARGV[2] == 'failed' then
  redis.call('DEL', KEYS[1], KEYS[2])
  return 1
end
for i = 4, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
redis.call('HINCRBY', KEYS[1], 'n', #ARGV - 3)
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 's', ARGV[2]) end
if ARGV[2] == 'large' then redis.call('DEL', KEYS[2]) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return known[2] and now - tonumber(known[2]) < 5000 and 2 or 1
`);

/**
 * KEYS: hash, list. ARGV: owner. Takes back a call of which no more will be written. What was written
 * whole stays, also where nobody heard that it was.
 */
export const giveUpScript = script(`
local known = redis.call('HMGET', KEYS[1], 'o', 's')
if known[1] == ARGV[1] and known[2] == 'running' then redis.call('DEL', KEYS[1], KEYS[2]) end
`);

/**
 * KEYS: hash, list. ARGV: position. Answers state, owner, and the parts from there on; or
 * nothing, also where parts are missing: then the call may run again.
 */
export const readScript = script(`${now}
local known = redis.call('HMGET', KEYS[1], 's', 'o', 'n')
if not known[1] then return {} end
if known[1] ~= 'large' and redis.call('LLEN', KEYS[2]) ~= tonumber(known[3] or 0) then
  redis.call('DEL', KEYS[1], KEYS[2])
  return {}
end
if known[1] == 'running' then redis.call('HSET', KEYS[1], 'f', string.format('%.0f', now)) end
local answer = { known[1], known[2] }
for _, part in ipairs(redis.call('LRANGE', KEYS[2], ARGV[1], tonumber(ARGV[1]) + 99)) do
  answer[#answer + 1] = part
end
return answer
`);
