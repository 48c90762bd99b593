/** What a gateway keeps: tokens and usage, in the database that the configuration names. */
import { join } from "node:path";
import { atMost } from "../core/abort.js";
import type { AdminState } from "../core/admin/state.js";
import type { OwnTokens } from "../core/callers/own.js";
import type { CallerSource } from "../core/callers/source.js";
import { StoredTokens } from "../core/callers/stored.js";
import type { Logger } from "../core/log.js";
import type { TimeZone } from "../core/time-zone.js";
import {
  mostUsers,
  type PeriodLimit,
  type UsageHistory,
  type UsersOf,
} from "../core/usage/history.js";
import type { UsageSink } from "../core/usage/record.js";
import { administered, ownTokens } from "./database/administered.js";
import { openDatabase } from "./database/open.js";
import { hasSqlite, noSqlite } from "./database/sqlite-library.js";
import { DatabaseTokens } from "./database/tokens.js";
import { DatabaseUsage } from "./database/usage.js";
import { defaultStateDirectory, keepsInFolder, openFolder } from "./directory.js";
import { Journal } from "./journal/journal.js";
import { journalFolder } from "./journal/segment.js";
import { Shipper } from "./journal/shipper.js";

/** What is kept, and where. */
export interface StateSettings {
  /** Default: `defaultStateDirectory()`. */
  readonly directory?: string | undefined;
  /** `sqlite`, or the URL of a PostgreSQL database. */
  readonly database: string;
  /** By whose clocks administrators are told hours, days and months. Default: UTC. */
  readonly zone?: TimeZone | undefined;
  /** How the database's tokens are looked up; absent: nobody is asked for issued tokens. */
  readonly tokens?:
    | { readonly refreshMs: number; readonly whenAway: "refuse" | "allow" }
    | undefined;
  /** How usage is kept; absent: it is not. */
  readonly usage?: { readonly retentionMs: number; readonly maxBytes: number } | undefined;
  /** Whether the database is administered here: then it is opened in any case. */
  readonly admin?: boolean | undefined;
}

/** What a gateway keeps. */
export interface State {
  /** Knows the database's tokens. */
  readonly tokens?: CallerSource & { readonly away: boolean; readonly outages: number };
  /** Where records of calls go, and what they come to. */
  readonly usage?: UsageSink &
    UsageHistory & {
      /** Whether the database can't be reached, or the disk not be written to. */
      readonly away: boolean;
      /** How often one of them began to be away. */
      readonly outages: number;
      /** Bytes of records that wait on the disk for the database, as of the last attempt. */
      readonly waitingBytes: number;
      /** Most bytes that may. */
      readonly mostWaitingBytes: number;
      /** Records that are only in memory: the disk does not take them. */
      readonly unwritten: number;
      /** Records that neither took, since the start. */
      readonly lostTotal: number;
    };
  /** Those of them that callers make for themselves. */
  readonly ownTokens?: OwnTokens;
  /** For administration, where there is a database. */
  readonly admin?: AdminState | undefined;
  /** Begins what happens in the background; called once callers can be answered. */
  start(): void;
  /** Brings records to the database, if that takes no time, and closes it. */
  close(): Promise<void>;
}

/**
 * Opens the state. The database itself is opened in the background, or when it
 * is first needed, and may be away.
 * @throws Error with a `code` if a folder that was asked for can't be written to
 */
export async function openState(settings: StateSettings, log: Logger): Promise<State> {
  const embedded = settings.database === "sqlite";
  if (!settings.tokens && !settings.usage && !settings.admin) return nothing;
  if (embedded && !hasSqlite()) {
    log.warn({}, `usage and the database's tokens are off: ${noSqlite}`);
    return nothing;
  }
  const directory = keepsInFolder(settings) ? await openDirectory(settings, log) : undefined;
  if (embedded && directory === undefined) return nothing;
  const sql = openDatabase(settings.database, directory ?? "");
  const tokens =
    settings.tokens && new StoredTokens(new DatabaseTokens(sql), { ...settings.tokens, log });
  const usage =
    settings.usage && directory !== undefined
      ? openUsage(settings.usage, new DatabaseUsage(sql), directory, log)
      : undefined;
  return {
    ...(tokens && { tokens, ownTokens: ownTokens(sql, tokens, log) }),
    ...(usage && { usage }),
    ...(settings.admin && { admin: administered(sql, settings.zone, tokens, usage) }),
    start() {
      tokens?.start();
      usage?.start();
    },
    async close() {
      tokens?.close();
      await usage?.close();
      await atMost(closeMs, sql.close());
    },
  };
}

/** How long the database may take to be let go of, milliseconds: one that hangs has nothing that is needed. */
const closeMs = 2000;

const nothing: State = { start() {}, close: async () => {} };

async function openDirectory(
  { directory, database }: StateSettings,
  log: Logger,
): Promise<string | undefined> {
  const { path, problem: code } = await openFolder(
    "state.directory",
    directory,
    defaultStateDirectory(),
  );
  if (code === undefined) return path;
  const off = database === "sqlite" ? "usage and the database's tokens are" : "usage is";
  log.warn({ path, code }, `no folder for state can be written to: ${off} off`);
  return undefined;
}

function openUsage(
  { retentionMs, maxBytes }: NonNullable<StateSettings["usage"]>,
  usage: DatabaseUsage,
  stateDirectory: string,
  log: Logger,
) {
  const directory = join(stateDirectory, journalFolder);
  const journal: Journal = new Journal({ directory, log, onWrite: () => shipper.notice() });
  const shipper = new Shipper({ directory, usage, log, journal, retentionMs, maxBytes });
  const flush = () => shipper.flush();
  return {
    keep: journal.keep.bind(journal),
    flush,
    async between(since: number, until: number) {
      await flush();
      if (since <= 0) return usage.lifetimes(until);
      const sums = await usage.totals(["token", "team", "model"], { since, until });
      return sums.map(({ group: { token = "", team = "", model = "" }, ...rest }) => {
        return { caller: token, team, model, ...rest };
      });
    },
    async ofUsers(quantity: "images" | "spend", since: number, until: number, of?: UsersOf) {
      await shipper.flush();
      return usage.ofUsers(quantity, since, until, mostUsers, of);
    },
    limited: (limit: PeriodLimit) => usage.limited(limit),
    get away() {
      return shipper.away || journal.failing;
    },
    get outages() {
      return shipper.outages + journal.outages;
    },
    get waitingBytes() {
      return shipper.waitingBytes;
    },
    mostWaitingBytes: shipper.mostWaitingBytes,
    get unwritten() {
      return journal.held.size;
    },
    get lostTotal() {
      return journal.lostTotal;
    },
    start: () => void shipper.start(),
    close: () => shipper.close(),
  };
}
