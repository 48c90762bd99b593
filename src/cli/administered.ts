/**
 * What `lintel tokens` and `lintel usage` work on: the database, or a gateway that administers one. The
 * contract of administration is the seam: the same requests, answered by the same code here or there.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type CallOptions, type Client, Code, ConnectError } from "@connectrpc/connect";
import { StatusService } from "../../gen/lintel/admin/v1/status_pb.js";
import { type Token, TokensService } from "../../gen/lintel/admin/v1/tokens_pb.js";
import { UsageService } from "../../gen/lintel/admin/v1/usage_pb.js";
import { tokenPolicy } from "../config/admin.js";
import { isPublic } from "../config/quantities.js";
import { handlers } from "../core/admin/handlers.js";
import { totalsOf } from "../core/admin/messages.js";
import {
  type AdminInput,
  type AdminMethod,
  adminMethods,
  type adminServices,
} from "../core/admin/methods.js";
import type { TokenPolicy } from "../core/admin/settings.js";
import { LintelError } from "../core/errors.js";
import { TimeZone, utc } from "../core/time-zone.js";
import type { UsageSums } from "../core/usage/sums.js";
import { DatabaseTokens } from "../state/database/tokens.js";
import { DatabaseUsage } from "../state/database/usage.js";
import type { Status } from "../telemetry/status.js";
import { statusOfMessage } from "../telemetry/status-message.js";
import { type Credential, serverOptions, withServer } from "./client.js";
import { type Given, type Option, UsageError } from "./command.js";
import { databaseOptions, type OpenDatabase, withDatabase } from "./database.js";
import { say } from "./output.js";

/** The token for a gateway elsewhere. */
const adminToken = {
  value: "TOKEN",
  help: "an administrator's token for --server (default: $LINTEL_ADMIN_TOKEN, which no list of processes shows)",
};

/** The options that choose where: a database, or a gateway. */
export const whereOptions = {
  ...databaseOptions,
  server: {
    ...serverOptions.server,
    help: "a gateway with admin in its configuration, in place of the database: https://host",
  },
  "admin-token": adminToken,
} as const satisfies Record<string, Option>;

/** The options that choose a gateway elsewhere, which is asked how it stands. */
export const elsewhereOptions = {
  server: {
    ...serverOptions.server,
    help: "a gateway elsewhere, with admin in its configuration: https://host",
  },
  "admin-token": adminToken,
} as const satisfies Record<string, Option>;

const administrators: Credential = { option: "admin-token", variable: "LINTEL_ADMIN_TOKEN" };

/** The methods of `TokensService` that commands use. */
export type TokensHere = Pick<
  Client<typeof TokensService>,
  "createToken" | "listTokens" | "updateToken" | "rotateToken" | "revokeToken"
>;

/**
 * Works on the tokens of a database, or of the gateway that `--server` names.
 * @param make whether a file of SQLite may be new
 * @returns the exit code
 * @throws UsageError
 */
export async function withTokens(
  given: Given,
  make: boolean,
  work: (tokens: TokensHere) => Promise<number>,
): Promise<number> {
  if (isRemote(given)) {
    return onServer(given, TokensService, (client, options) => work(calling(client, options)));
  }
  return withDatabase(given, { make }, async (database) => {
    try {
      return await work(answering(database));
    } catch (error) {
      if (!(error instanceof LintelError) || error.code === "internal") throw error;
      say(`lintel: ${error.message}`);
      return 1;
    }
  });
}

/**
 * Works on usage in the same way.
 * @param before runs first, where it is that of a database
 * @param work gets what finds out the zone by whose clocks times are told; of a database alone that is UTC
 */
export async function withUsage(
  given: Given,
  before: (database: OpenDatabase) => Promise<void>,
  work: (usage: UsageSums, zone: () => Promise<TimeZone>) => Promise<number>,
): Promise<number> {
  if (!isRemote(given)) {
    return withDatabase(given, { before }, ({ sql, config }) => {
      const zone = config ? new TimeZone(config.time_zone) : utc;
      return work(new DatabaseUsage(sql, zone), async () => zone);
    });
  }
  return onServer(given, UsageService, (client, options) =>
    work(asking(client, options), () => zoneOf(client, options)),
  );
}

/**
 * A gateway's zone, which it tells with sums: those of a moment in which nothing was.
 * @throws UsageError where only its Node knows such a zone
 */
async function zoneOf(
  client: Client<typeof UsageService>,
  options: CallOptions,
): Promise<TimeZone> {
  const asked = { startTime: timestampFromMs(0), endTime: timestampFromMs(1), pageSize: 1 };
  const { timeZone } = await client.queryUsage(asked, options);
  // A gateway of an earlier version tells none.
  if (timeZone === "") return utc;
  try {
    return new TimeZone(timeZone);
  } catch {
    throw new UsageError(
      `the gateway's time zone ${JSON.stringify(timeZone)} is not known here: say times, such as 2027-01-31T00:00:00+01:00`,
    );
  }
}

/**
 * Looks how the gateway stands that `--server` names.
 * @param work gets what asks it; of what fails there nothing needs to be said
 * @returns the exit code
 * @throws UsageError
 */
export const withStatus = (
  given: Given,
  work: (look: () => Promise<Status>) => Promise<number>,
): Promise<number> =>
  onServer(given, StatusService, (client, options) =>
    work(async () => statusOfMessage(await client.getStatus({}, options))),
  );

/** Most rows of one answer. */
const rowsAtOnce = 10_000;

const asking = (client: Client<typeof UsageService>, options: CallOptions): UsageSums => ({
  async totals(by, { since = 0, until, request, ...filter } = {}) {
    const asked = {
      ...filter,
      groupBy: [...by],
      // No record is older, and no other time can be asked for.
      startTime: timestampFromMs(Math.max(since, 0)),
      endTime: until === undefined ? undefined : timestampFromMs(until),
      requestId: request,
      pageSize: rowsAtOnce,
    };
    const pages = await everyPage((pageToken) =>
      client.queryUsage({ ...asked, pageToken }, options),
    );
    for (const warning of pages[0]?.warnings ?? []) say(`warning: ${warning}`);
    return pages.flatMap(({ rows }) => rows.map(totalsOf));
  },
});

/** Every token, page by page. @param owner only those that this caller made for itself; empty: all */
export async function everyToken(
  tokens: TokensHere,
  includeRevoked: boolean,
  owner = "",
): Promise<Token[]> {
  const asked = { includeRevoked, owner };
  const pages = await everyPage((pageToken) => tokens.listTokens({ ...asked, pageToken }));
  return pages.flatMap((page) => page.tokens);
}

/** The answers to a question whose answer comes in pages. */
async function everyPage<A extends { readonly nextPageToken: string }>(
  ask: (pageToken: string) => Promise<A>,
): Promise<A[]> {
  const pages: A[] = [];
  let pageToken = "";
  do {
    const page = await ask(pageToken);
    pages.push(page);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return pages;
}

/** Whether a gateway is asked. It has to be named: `LINTEL_SERVER` is where calls go. @throws UsageError */
export function isRemote(given: Given): boolean {
  const remote = given.has("server");
  for (const name of ["database", "config", "socket", "pid"]) {
    if (remote && given.has(name)) {
      throw new UsageError(`--server and --${name} are two places: say one of them`);
    }
  }
  if (!remote && given.has("admin-token")) throw new UsageError("--admin-token needs --server URL");
  return remote;
}

/** Whether what goes there can be read by others than this machine. */
function isInClear(address: string): boolean {
  if (!address.startsWith("http:")) return false;
  const { hostname } = new URL(address);
  return isPublic({ host: hostname.replace(/^\[|\]$/g, ""), port: 0 });
}

async function onServer<S extends (typeof adminServices)[number]>(
  given: Given,
  service: S,
  work: (client: Client<S>, options: CallOptions) => Promise<number>,
): Promise<number> {
  const called = async (client: Client<S>, options: CallOptions) => {
    const address = given.text("server") ?? "";
    if (isInClear(address)) {
      say(
        `warning: the administrator's token goes to ${address} without TLS: whoever listens in on the way has it`,
      );
    }
    try {
      return await work(client, options);
    } catch (error) {
      if (ConnectError.from(error).code !== Code.Unimplemented) throw error;
      say(`lintel: administration is not served at ${address}: has its configuration admin?`);
      return 1;
    }
  };
  return withServer(given, service, called, administrators);
}

/** The client, which sends the token with every call. */
const calling = (client: Client<typeof TokensService>, options: CallOptions): TokensHere => ({
  createToken: (request) => client.createToken(request, options),
  listTokens: (request) => client.listTokens(request, options),
  updateToken: (request) => client.updateToken(request, options),
  rotateToken: (request) => client.rotateToken(request, options),
  revokeToken: (request) => client.revokeToken(request, options),
});

/** The same answered by this process, which changes the database itself. */
function answering({ sql, config }: OpenDatabase): TokensHere {
  const state = { tokens: new DatabaseTokens(sql), usage: new DatabaseUsage(sql) };
  const policy = config ? tokenPolicy(config) : anything;
  const settings = { policy, refreshMs: config?.state.refresh, keepsUsage: true };
  const answer = (method: AdminMethod) => (request: object) =>
    handlers[method](create(adminMethods[method].input, request) as AdminInput<never>, {
      ...{ state, settings, status: noGateway, found: [] },
      about() {},
    });
  const methods = [
    "createToken",
    "listTokens",
    "updateToken",
    "rotateToken",
    "revokeToken",
  ] as const;
  return Object.fromEntries(methods.map((name) => [name, answer(name)])) as unknown as TokensHere;
}

const noGateway = (): never => {
  throw new Error("a database says nothing of gateways");
};

/** Of a database alone nothing more is known. */
const anything: TokenPolicy = {
  refusal: () => undefined,
  teamWarnings: () => [],
  fromWarnings: () => [],
  warnings: () => [],
};
