/**
 * What commands of administration work on: the database, or a gateway that administers one. The contract of
 * administration is the seam: the same requests, answered by the same code here or there.
 */
import { type CallOptions, type Client, Code, ConnectError } from "@connectrpc/connect";
import { StatusService } from "../../gen/lintel/admin/v1/status_pb.js";
import { isPublic } from "../config/quantities.js";
import type { adminServices } from "../core/admin/methods.js";
import type { Status } from "../telemetry/status.js";
import { statusOfMessage } from "../telemetry/status-message.js";
import { type Credential, serverOptions, withServer } from "./client.js";
import { type Given, type Option, UsageError } from "./command.js";
import { databaseOptions } from "./database.js";
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

/** The answers to a question whose answer comes in pages. */
export async function everyPage<A extends { readonly nextPageToken: string }>(
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

/**
 * Works on a service of the gateway that `--server` names.
 * @param work gets options that every call needs
 * @returns the exit code
 * @throws UsageError
 */
export async function onServer<S extends (typeof adminServices)[number]>(
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
