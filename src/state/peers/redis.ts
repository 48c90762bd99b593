/** Where gateways tell each other of their targets: one hash in Redis or Valkey. */
import { randomBytes } from "node:crypto";
import type { Peer, Peers, Report } from "../../core/routing/peers.js";
import type { RedisConnection } from "../redis/connection.js";
import { preload, runScript, script } from "../redis/script.js";

/** After so long without a word somebody is gone, milliseconds. */
const silentMs = 5000;

/**
 * KEYS: the reports. ARGV: whose report, the report, milliseconds after which
 * others are gone. Answers what the others told.
 */
const exchangeScript = script(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local silent = tonumber(ARGV[3])
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], silent)
local all, others = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  if all[i] ~= ARGV[1] then
    local at, report = string.match(all[i + 1], '^(%d+) (.*)$')
    if at and tonumber(at) + silent > now then others[#others + 1] = report
    else redis.call('HDEL', KEYS[1], all[i]) end
  end
end
return others
`);

/**
 * Makes a meeting place on a connection, which stays its owner's.
 * @param goneMs after so long without a word somebody is gone
 */
export function redisPeers(connection: RedisConnection, goneMs = silentMs): Peers {
  // In a cluster where the limits are: a node that is gone takes nothing else along.
  const key = `${connection.keyPrefix}{limits}:peers`;
  preload(connection, [exchangeScript]);
  return {
    join(): Peer {
      const id = randomBytes(9).toString("base64url");
      let left = false;
      return {
        async exchange(report) {
          if (left || !connection.available) return [];
          const args = [id, JSON.stringify(report), goneMs];
          try {
            const others = await connection.ask((client) =>
              runScript(client, exchangeScript, [key], args),
            );
            return (others as string[]).flatMap(read);
          } catch {
            // Said by the connection; who hears nothing goes by what it knows itself.
            return [];
          }
        },
        leave() {
          left = true;
          connection.ask((client) => client.hdel(key, id)).catch(() => {});
        },
      };
    },
  };
}

/** What another one wrote, who may be of another version. */
function read(text: string): Report[] {
  try {
    const { out, running, used } = JSON.parse(text);
    if (!Array.isArray(out) || !Array.isArray(running)) return [];
    if (used !== undefined && !Array.isArray(used)) return [];
    return [{ out, running, used }];
  } catch {
    return [];
  }
}
