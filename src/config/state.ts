/** Where a gateway keeps tokens and usage. */
import * as z from "zod";
import { TimeZone } from "../core/time-zone.js";
import type { StateSettings } from "../state/open.js";
import { path } from "./fields.js";
import { period, size, wait } from "./quantities.js";
import { redisSchema } from "./redis.js";
import type { Config } from "./schema.js";

/** The address of a PostgreSQL database as its driver reads it; absent: it can't. Without a host one stands in its place. */
export function postgresUrl(text: string): URL | undefined {
  const address = text.replace("@/", "@host/");
  return URL.canParse(address) ? new URL(address) : undefined;
}

const databaseMessage = "must be sqlite, or an address such as postgres://user@host/name";

/** The section `state` of the configuration. */
export const stateSchema = z.strictObject({
  directory: path
    .optional()
    .describe(
      "Folder for the database (lintel.db), usage on its way there (usage), models that are fetched by name (models), generated images (media), and sockets for lintel top (run). Default: lintel in $XDG_STATE_HOME, or in ~/.local/state.",
    ),
  database: z
    .string()
    .regex(/^(sqlite|postgres(ql)?:\/\/.+)$/, { error: databaseMessage, abort: true })
    .refine((text) => text === "sqlite" || postgresUrl(text) !== undefined, {
      error: databaseMessage,
    })
    .default("sqlite")
    .describe(
      "Where tokens and usage are kept: sqlite, a file in the folder, for one machine; or the address of a PostgreSQL database, for any number of gateways.",
    ),
  refresh: wait
    .prefault("5s")
    .describe("Within which changes of tokens, such as a revocation, reach every gateway."),
  redis: redisSchema
    .optional()
    .describe(
      "Where several gateways count together, and keep the answers for Idempotency-Key. Default: each for itself, in memory.",
    ),
});

/** The section `usage` of the configuration. */
export const usageSchema = z.strictObject({
  enabled: z.boolean().default(true).describe("Whether a record of each call is kept."),
  retention: period
    .prefault("90d")
    .describe("How long records are kept; 36500d is as good as for ever."),
  max_waiting: size
    .prefault("1GiB")
    .describe("Most room for records that wait on the disk while the database is away."),
});

/** What is opened of it. */
export function stateSettings({ state, usage, auth, admin, time_zone }: Config): StateSettings {
  return {
    directory: state.directory,
    database: state.database,
    zone: new TimeZone(time_zone),
    tokens:
      auth.mode === "token"
        ? { refreshMs: state.refresh, whenAway: auth.database_away }
        : undefined,
    usage: usage.enabled
      ? { retentionMs: usage.retention, maxBytes: usage.max_waiting }
      : undefined,
    admin: admin !== undefined,
  };
}
