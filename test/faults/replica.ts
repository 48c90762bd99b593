/**
 * One gateway of several, in a process of its own: the real doors and core over
 * a backend that answers at once. Told what to limit by its arguments; says its
 * address to its parent.
 */

import type { CallerLimits } from "../../src/core/limits/settings.js";
import type { Logger } from "../../src/core/log.js";
import { silent } from "../../src/core/log.js";
import { RedisLimits } from "../../src/state/limits/redis.js";
import { RedisConnection } from "../../src/state/redis/connection.js";
import { startLintel } from "../support/lintel.js";
import { says, scripted } from "../support/scripted.js";

const [url = "", limits = "{}"] = process.argv.slice(2);
const log: Logger = {
  ...silent,
  warn: (_: unknown, message?: string) => process.send?.({ said: message }),
  info: (_: unknown, message?: string) => {
    if (message?.startsWith("the store")) process.send?.({ said: message });
  },
} as Logger;
const connection = new RedisConnection({ url }, log);
await connection.settled(5000);
const lintel = await startLintel([scripted({ chat: says("Hi") })], {
  settings: { auth: { mode: "none" } },
  parts: {
    limits: {
      settings: { models: [], global: JSON.parse(limits) as CallerLimits },
      prices: [],
      store: new RedisLimits(connection, { replicas: 3 }),
    },
  },
});
process.send?.({ url: lintel.url });
