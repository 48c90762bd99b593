/** What another configuration changes, and what of it a gateway that runs can take over. */
import { isDeepStrictEqual } from "node:util";
import type { Config } from "./schema.js";

/** A change of configuration. */
export interface ConfigChange {
  /** What holds from now on: the new one, but for what needs a restart. */
  readonly config: Config;
  /** Fields that changed and apply at once. */
  readonly changed: readonly string[];
  /** Fields that changed and apply after a restart. */
  readonly restart: readonly string[];
}

/** Sections that apply at once as a whole. */
const live: ReadonlySet<string> = new Set<keyof Config>([
  "auth",
  "backends",
  "bounds",
  "budget_alerts",
  "default_models",
  "documents",
  "expose_sources",
  "guards",
  "image_hosts",
  "limits",
  "log",
  "models",
  "prices",
  "routing",
  "safety",
  "timeouts",
]);

/** Fields that do so of sections whose stores are opened once. */
const liveFields: Readonly<Record<"cache" | "console" | "idempotency", readonly string[]>> = {
  cache: ["ttl", "scope", "max_answer"],
  console: ["sign_in"],
  idempotency: ["linger"],
};

/**
 * Compares what holds with what is to hold.
 * @param tokens whether the database's tokens are looked up, which is settled at the start
 */
export function changeOf(now: Config, next: Config, tokens: boolean): ConfigChange {
  const changed: string[] = [];
  const restart: string[] = [];
  const auth = { ...next.auth, database_away: now.auth.database_away };
  const config: Record<string, unknown> = { ...next, auth };
  const names = new Set([...Object.keys(now), ...Object.keys(next)]) as Set<keyof Config>;
  for (const name of [...names].sort()) {
    if (isDeepStrictEqual(now[name], config[name])) continue;
    if (live.has(name)) changed.push(name);
    else {
      restart.push(name);
      config[name] = now[name];
    }
  }
  for (const [section, fields] of Object.entries(liveFields)) {
    const name = section as keyof typeof liveFields;
    const here: Record<string, unknown> = now[name];
    const there: Record<string, unknown> = next[name];
    const live = fields.filter((field) => !isDeepStrictEqual(here[field], there[field]));
    if (live.length === 0) continue;
    changed.push(...live.map((field) => `${name}.${field}`));
    // A field that is set no longer is gone, as from a file that never had it.
    const kept = Object.entries(here).filter(([field]) => !fields.includes(field));
    const taken = Object.entries(there).filter(([field]) => fields.includes(field));
    config[name] = Object.fromEntries([...kept, ...taken]);
    const others = Object.keys({ ...here, ...there }).filter((field) => !fields.includes(field));
    if (others.every((field) => isDeepStrictEqual(here[field], there[field]))) {
      restart.splice(restart.indexOf(name), 1);
    }
  }
  const admin = adminChange(now.admin, next.admin);
  if (admin) {
    config.admin = admin.holds;
    if (admin.changed) changed.push("admin.tokens");
    if (!admin.restart) restart.splice(restart.indexOf("admin"), 1);
  }
  if (next.auth.mode === "token" && !tokens) restart.push("auth.mode (tokens in the database)");
  if (now.auth.database_away !== next.auth.database_away) restart.push("auth.database_away");
  return { config: config as Config, changed, restart };
}

/**
 * What becomes of administration, which a gateway has from its start on or not at all. Who may is settled at
 * once, also where nobody may any more.
 * @returns `undefined` where nothing changes
 */
function adminChange(now: Config["admin"], next: Config["admin"]) {
  if (isDeepStrictEqual(now, next)) return undefined;
  if (!now) return { holds: now, changed: false, restart: true };
  const tokens = next?.tokens ?? [];
  return {
    holds: { ...now, tokens },
    changed: !isDeepStrictEqual(now.tokens, tokens),
    restart: !next || !isDeepStrictEqual(now.listen, next.listen),
  };
}
