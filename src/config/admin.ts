/** Who may administer a gateway over the network, and where. */
import * as z from "zod";
import type { AdminSettings, TokenPolicy } from "../core/admin/settings.js";
import { hashSchema } from "./auth.js";
import { fromSchema } from "./caller-fields.js";
import { name } from "./fields.js";
import { listenAddress, listenMessage, time } from "./quantities.js";
import type { Config } from "./schema.js";
import { unknownTeam } from "./team-warnings.js";

const token = z.strictObject({
  name: name.describe("Who it was issued to; names the administrator in the log."),
  hash: hashSchema(
    'must be "sha256:" and 64 hex digits, as "lintel tokens create --yaml --admin" prints it',
  ).describe("Hash of the token; the token itself is never stored."),
  from: fromSchema("it may be used from"),
  expires: time.optional().describe("Until when it counts. Default: for ever."),
});

/** The section `admin` of the configuration. */
export const adminSchema = z.strictObject({
  tokens: z
    .array(token)
    .min(1, { error: "must have at least one: nobody else may administer the gateway" })
    .describe("Tokens of administrators. They open nothing else, and no other token opens this."),
  listen: z
    .union([listenAddress, z.array(listenAddress).min(1)], { error: listenMessage })
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .optional()
    .describe(
      "Where alone administration is served, written as listen. Default: where everything is.",
    ),
});

/** The core's part; `undefined` where there is no administration. */
export function adminSettings(config: Config): AdminSettings | undefined {
  const { admin, state, timeouts, usage } = config;
  if (!admin) return undefined;
  return {
    tokens: admin.tokens.map(({ expires, ...token }) => ({ ...token, expiresAt: expires })),
    policy: tokenPolicy(config),
    refreshMs: state.refresh,
    keepsUsage: usage.enabled,
    timeZone: config.time_zone,
    timeoutMs: timeouts.total,
  };
}

/** What is wrong with addresses that anybody may write. */
export const anyAddress =
  "whoever reaches the gateway can write any address into X-Forwarded-For; trust_proxy should name the proxies";

/** What a configuration says of tokens that are issued besides it, wherever they are issued. */
export function tokenPolicy({
  auth: { mode, tokens, oidc, teams },
  trust_proxy,
}: Pick<Config, "auth" | "trust_proxy">): TokenPolicy {
  const quoted = (text: string) => JSON.stringify(text);
  return {
    refusal(name) {
      if (tokens.some((token) => token.name === name)) {
        return `a token in the configuration is called ${quoted(name)} already`;
      }
      const theirs = oidc.some((issuer) => name.startsWith(`${issuer.name}:`));
      return theirs ? `callers of an OIDC issuer are called like ${quoted(name)}` : undefined;
    },
    teamWarnings(team) {
      const known = teams.map(({ name }) => name);
      return !team || known.includes(team) ? [] : [unknownTeam(team, known)];
    },
    fromWarnings: (from) =>
      from && trust_proxy === true ? [`trust_proxy is true: ${anyAddress}`] : [],
    warnings: () =>
      mode === "token" ? [] : [`auth.mode is ${mode}: tokens are looked at where it is token`],
  };
}
