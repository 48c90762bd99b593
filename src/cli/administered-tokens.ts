/** The tokens that `lintel tokens` works on: those of a database, or of a gateway. */
import { create } from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";
import { type Token, TokensService } from "../../gen/lintel/admin/v1/tokens_pb.js";
import { tokenPolicy } from "../config/admin.js";
import { handlers } from "../core/admin/handlers.js";
import { type AdminInput, type AdminMethod, adminMethods } from "../core/admin/methods.js";
import type { TokenPolicy } from "../core/admin/settings.js";
import { LintelError } from "../core/errors.js";
import { DatabaseTokens } from "../state/database/tokens.js";
import { DatabaseUsage } from "../state/database/usage.js";
import { everyPage, isRemote, onServer } from "./administered.js";
import type { Given } from "./command.js";
import { type OpenDatabase, withDatabase } from "./database.js";
import { say } from "./output.js";

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
