/** `lintel tokens`: issues tokens for callers, lists them and ends them. */
import { limitsWritten } from "../config/caller-limits.js";
import type { Config } from "../config/schema.js";
import { unknownTeam } from "../config/team-warnings.js";
import type { Rotated } from "../core/callers/registry.js";
import type { StoredToken } from "../core/callers/store.js";
import { DatabaseTokens } from "../state/database/tokens.js";
import { type Command, type Given, type Group, UsageError } from "./command.js";
import { databaseOptions, withDatabase } from "./database.js";
import { deliver, out, say } from "./output.js";
import { table } from "./table.js";
import {
  changeOf,
  changeOptions,
  durationOption,
  expiryHelp,
  expiryOption,
  limitsInWords,
  tokenOptions,
  wishOf,
} from "./token-options.js";
import { tokenYaml } from "./token-yaml.js";

const json = { help: "prints JSON" } as const;

const create: Command = {
  summary: "issues a token for a caller",
  details: `Prints the token; this is the only time that it is shown, and it is stored as a hash.
Tokens count where auth.mode is token.`,
  options: {
    ...tokenOptions,
    yaml: { help: "stores nothing: prints the token, and lines for lintel.yaml with its hash" },
    json,
    ...databaseOptions,
  },
  async run(given) {
    if (given.has("yaml") && given.has("json")) {
      throw new UsageError("--yaml and --json are two forms of the answer: say one of them");
    }
    const wish = wishOf(given);
    if (given.has("yaml")) {
      out(tokenYaml(wish));
      return 0;
    }
    return withDatabase(given, { make: true }, async ({ sql, config }) => {
      const { auth } = config ?? {};
      if (auth?.tokens.some(({ name }) => name === wish.name)) {
        return failed(`a token in the configuration is called ${quoted(wish.name)} already`);
      }
      if (auth?.oidc.some(({ name }) => wish.name.startsWith(`${name}:`))) {
        return failed(`callers of an OIDC issuer are called like ${quoted(wish.name)}`);
      }
      const made = await new DatabaseTokens(sql).create(wish);
      if (!made) return failed(`a token is called ${quoted(wish.name)} already`);
      await show(given, { id: made.token.id, name: wish.name, token: made.secret });
      tellOfTeam(wish.team, auth);
      if (auth && auth.mode !== "token") {
        say(`auth.mode is ${auth.mode}: tokens are looked at where it is token`);
      }
      return 0;
    });
  },
};

const list: Command = {
  summary: "lists the tokens of the database",
  options: { all: { help: "those that were revoked too" }, json, ...databaseOptions },
  run: (given) =>
    withDatabase(given, {}, async ({ sql }) => {
      const all = await new DatabaseTokens(sql).list();
      const shown = all.filter(({ revokedAt }) => given.has("all") || revokedAt === undefined);
      if (given.has("json")) out(JSON.stringify(shown.map(entryOf), undefined, 2));
      else if (shown.length === 0) say("there are no tokens");
      else out(table(heading, shown.map(rowOf)));
      return 0;
    }),
};

const revoke: Command = {
  summary: "ends a token at once",
  operand: "NAME",
  details: "NAME is the token's name or its id.",
  options: databaseOptions,
  run: (given) =>
    withDatabase(given, {}, async ({ sql, config }) => {
      const token = await new DatabaseTokens(sql).revoke(given.operand);
      if (!token) return failed(noSuch(given));
      const within = config ? ` within ${config.state.refresh / 1000} s` : "";
      say(`${token.name}: revoked; every gateway refuses it${within}`);
      return 0;
    }),
};

const update: Command = {
  summary: "changes what a token may do; the token itself stays",
  operand: "NAME",
  details: `NAME is the token's name or its id. What is not given stays as it is. A limit that is
"default" is that of all callers again (limits.caller). What was counted goes on counting, but
for budgets that get another period, and for the first calls in another team.`,
  options: { ...changeOptions, json, ...databaseOptions },
  async run(given) {
    const change = changeOf(given);
    return withDatabase(given, {}, async ({ sql, config }) => {
      const token = await new DatabaseTokens(sql).update(given.operand, change);
      if (!token) return failed(noSuch(given));
      out(given.has("json") ? JSON.stringify(entryOf(token)) : table(heading, [rowOf(token)]));
      tellOfTeam(change.team, config?.auth);
      if (!given.has("json") && config) {
        say(`every gateway knows within ${config.state.refresh / 1000} s`);
      }
      return 0;
    });
  },
};

const rotate: Command = {
  summary: "replaces a token; its name, models and limits stay",
  operand: "NAME",
  details: `NAME is the token's name or its id. Prints the new token, which is shown only now.
A token that expired needs --expires. While the one before it still counts, because of an
earlier --grace, it is not rotated again: that one may be in use, and would end.`,
  options: {
    grace: {
      value: "TIME",
      help: "how long the old token counts besides, for example 24h (default: 0s)",
    },
    expires: { ...tokenOptions.expires, help: `${expiryHelp} (default: as it was)` },
    force: { help: "rotates also while an earlier grace runs, which ends the token of that grace" },
    json,
    ...databaseOptions,
  },
  async run(given) {
    const rotation = {
      graceMs: durationOption(given, "grace") ?? 0,
      expiresAt: expiryOption(given),
      force: given.has("force"),
    };
    return withDatabase(given, {}, async ({ sql }) => {
      const rotated = await new DatabaseTokens(sql).rotate(given.operand, rotation);
      if (!rotated) return failed(noSuch(given));
      if ("refused" in rotated) return failed(refusalOf(rotated));
      const { secret, token } = rotated;
      await show(given, { id: token.id, name: token.name, token: secret });
      return 0;
    });
  },
};

export const tokens: Group = { commands: { create, list, update, revoke, rotate } };

/** Says of a team that the configuration does not know what that means: it may be a slip. */
function tellOfTeam(team: string | null | undefined, auth: Config["auth"] | undefined): void {
  const teams = auth?.teams.map(({ name }) => name) ?? [];
  if (!team || !auth || teams.includes(team)) return;
  say(`${unknownTeam(team, teams)}`);
}

const quoted = (name: string) => JSON.stringify(name);

const noSuch = ({ operand }: Given) => `there is no token ${quoted(operand)} that counts`;

function refusalOf({ refused, token }: Extract<Rotated, { refused: string }>): string {
  const time = (ms = 0) => new Date(ms).toISOString();
  const { name, expiresAt, previous } = token;
  // A grace ends with the token.
  const until = Math.min(previous?.until ?? 0, expiresAt ?? Number.POSITIVE_INFINITY);
  return refused === "expired"
    ? `the token ${quoted(name)} expired at ${time(expiresAt)}: say --expires WHEN to renew it`
    : `the token that ${quoted(name)} had before still counts until ${time(until)}: rotate it after that, or say --force to end that one now`;
}

function failed(message: string): number {
  say(`lintel: ${message}`);
  return 1;
}

/** The token alone on stdout, so that it can be taken from there. */
async function show(
  given: Given,
  made: { id: string; name: string; token: string },
): Promise<void> {
  const loss = "the token counts, and was not shown: revoke or rotate it";
  await deliver(given.has("json") ? JSON.stringify(made) : made.token, loss);
  if (!given.has("json")) say(`${made.name} (${made.id}): the token is shown only now`);
}

const heading = ["NAME", "ID", "STATE", "TEAM", "MODELS", "LIMITS", "CREATED", "EXPIRES"];

function rowOf(token: StoredToken): string[] {
  const { name, id, team = "", models, limits, createdAt, expiresAt } = token;
  return [
    name,
    id,
    stateOf(token),
    team,
    models?.join(" ") ?? "all",
    limitsInWords(limits),
    timeOf(createdAt),
    expiresAt === undefined ? "never" : timeOf(expiresAt),
  ];
}

/** What `--json` tells of a token; nothing that leads to it. */
function entryOf(token: StoredToken) {
  const { id, name, team, models, limits, createdAt, expiresAt, revokedAt } = token;
  const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    id,
    name,
    state: stateOf(token),
    team: team ?? null,
    models: models ?? null,
    limits: limits ? limitsWritten(limits) : null,
    created: time(createdAt),
    expires: time(expiresAt),
    revoked: time(revokedAt),
  };
}

function stateOf({ revokedAt, expiresAt, previous }: StoredToken): string {
  const now = Date.now();
  if (revokedAt !== undefined) return "revoked";
  if (expiresAt !== undefined && expiresAt <= now) return "expired";
  return previous && previous.until > now ? "active, two tokens" : "active";
}

const timeOf = (ms: number) => `${new Date(ms).toISOString().slice(0, 16)}Z`;
