/** `lintel tokens`: issues tokens for callers, lists them and ends them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  ExpirySchema,
  UpdateTokenRequestSchema,
} from "../../gen/lintel/admin/v1/tokens_pb.js";
import { limitsMessage, msOf } from "../core/admin/messages.js";
import type { TokenChange } from "../core/callers/registry.js";
import { fromConnectError } from "../core/connect-error.js";
import { whereOptions } from "./administered.js";
import { everyToken, withTokens } from "./administered-tokens.js";
import { type Command, type Given, type Group, UsageError } from "./command.js";
import { deliver, out, say } from "./output.js";
import {
  changeOf,
  changeOptions,
  durationOption,
  expiryHelp,
  expiryOption,
  tokenOptions,
  wishOf,
} from "./token-options.js";
import { entryOf, tableOf } from "./token-table.js";
import { adminYaml, tokenYaml } from "./token-yaml.js";

const json = { help: "prints JSON" } as const;

const create: Command = {
  summary: "issues a token for a caller",
  details: `Prints the token; this is the only time that it is shown, and it is stored as a hash.
Tokens count where auth.mode is token.`,
  options: {
    ...tokenOptions,
    yaml: { help: "stores nothing: prints the token, and lines for lintel.yaml with its hash" },
    admin: { help: "with --yaml: the token is an administrator's, for admin.tokens" },
    json,
    ...whereOptions,
  },
  async run(given) {
    if (given.has("yaml") && given.has("json")) {
      throw new UsageError("--yaml and --json are two forms of the answer: say one of them");
    }
    if (given.has("yaml") && given.has("server")) {
      throw new UsageError("--yaml stores nothing: leave out --server");
    }
    const wish = wishOf(given);
    if (given.has("admin")) {
      if (!given.has("yaml"))
        throw new UsageError("--admin needs --yaml: no database has such tokens");
      if (wish.models || wish.limits || wish.team) {
        throw new UsageError("--admin: administrators have no models, limits or team");
      }
      out(adminYaml(wish));
      return 0;
    }
    if (given.has("yaml")) {
      out(tokenYaml(wish));
      return 0;
    }
    return withTokens(given, true, async (tokens) => {
      const { name, models, from, limits, team, expiresAt } = wish;
      const { token, secret, warnings } = await tokens.createToken({
        ...{ name, team },
        models: models && { names: [...models] },
        fromAddresses: from && { networks: [...from] },
        limits: limits && limitsMessage(limits),
        expiry: expiryMessage(expiresAt),
      });
      await show(given, { id: token?.id ?? "", name, token: secret });
      for (const warning of warnings) say(warning);
      return 0;
    });
  },
};

const list: Command = {
  summary: "lists the tokens of the database",
  options: {
    all: { help: "those that were revoked too" },
    owner: { value: "CALLER", help: "only those that this caller made (lintel own-tokens)" },
    json,
    ...whereOptions,
  },
  run: (given) =>
    withTokens(given, false, async (tokens) => {
      const shown = await everyToken(tokens, given.has("all"), given.text("owner"));
      if (given.has("json")) out(JSON.stringify(shown.map(entryOf), undefined, 2));
      else if (shown.length === 0) say("there are no tokens");
      else out(tableOf(shown));
      return 0;
    }),
};

const revoke: Command = {
  summary: "ends a token at once, or all that a caller made",
  operand: "[NAME]",
  details: `NAME is the token's name or its id; of one that a caller made for itself (lintel own-tokens) its id.`,
  options: {
    owner: { value: "CALLER", help: "in place of NAME: ends every token that this caller made" },
    ...whereOptions,
  },
  async run(given) {
    const { operand } = given;
    const owner = given.text("owner");
    if ((operand === "") === (owner === undefined)) {
      throw new UsageError("tokens revoke needs NAME or --owner CALLER, one of them");
    }
    return withTokens(given, false, async (tokens) => {
      const made = owner === undefined ? undefined : await everyToken(tokens, false, owner);
      if (made?.length === 0) say(`${owner} has made no token that counts`);
      for (const token of made?.map(({ id }) => id) ?? [operand]) {
        const answer = await tokens.revokeToken({ token });
        const ms = msOf(answer.appliesWithin);
        const within = ms === undefined ? "" : ` within ${ms / 1000} s`;
        say(`${answer.token?.name}: revoked; every gateway refuses it${within}`);
      }
      return 0;
    });
  },
};

const update: Command = {
  summary: "changes what a token may do; the token itself stays",
  operand: "NAME",
  details: `NAME is the token's name or its id. What is not given stays as it is. A limit that is
"default" is that of all callers again (limits.caller). What was counted goes on counting, but
for budgets that get another period, and for the first calls in another team.`,
  options: { ...changeOptions, json, ...whereOptions },
  async run(given) {
    const change = changeMessage(given.operand, changeOf(given));
    return withTokens(given, false, async (tokens) => {
      const { token, warnings, appliesWithin } = await tokens.updateToken(change);
      if (!token) throw new Error("the answer has no token");
      out(given.has("json") ? JSON.stringify(entryOf(token)) : tableOf([token]));
      for (const warning of warnings) say(warning);
      const ms = msOf(appliesWithin);
      if (!given.has("json") && ms !== undefined) say(`every gateway knows within ${ms / 1000} s`);
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
    ...whereOptions,
  },
  async run(given) {
    const rotation = {
      token: given.operand,
      grace: durationFromMs(durationOption(given, "grace") ?? 0),
      expiry: expiryMessage(expiryOption(given)),
      force: given.has("force"),
    };
    return withTokens(given, false, async (tokens) => {
      const rotated = await tokens.rotateToken(rotation).catch(sayWhyNot);
      if (!rotated) return 1;
      const { secret, token } = rotated;
      await show(given, { id: token?.id ?? "", name: token?.name ?? "", token: secret });
      return 0;
    });
  },
};

export const tokens: Group = { commands: { create, list, update, revoke, rotate } };

/** Says why a token is not rotated, and by which option it would be. @throws all else */
function sayWhyNot(thrown: unknown): undefined {
  const { code, message, param } = fromConnectError(thrown);
  if (code !== "failed_precondition" || (param !== "expiry" && param !== "force")) throw thrown;
  say(`lintel: ${message}; say ${param === "expiry" ? "--expires WHEN" : "--force"} for that`);
}

/** @param expiresAt `null`: never; absent: as it is */
function expiryMessage(
  expiresAt: number | null | undefined,
): MessageInitShape<typeof ExpirySchema> | undefined {
  if (expiresAt === undefined) return undefined;
  return expiresAt === null
    ? { kind: { case: "never", value: true } }
    : { kind: { case: "time", value: timestampFromMs(expiresAt) } };
}

const changeMessage = (
  token: string,
  { models, from, team, limits, expiresAt }: TokenChange,
): MessageInitShape<typeof UpdateTokenRequestSchema> => ({
  token,
  models: models === undefined ? undefined : { names: [...(models ?? [])] },
  fromAddresses: from === undefined ? undefined : { networks: [...(from ?? [])] },
  team: team === undefined ? undefined : (team ?? ""),
  limits: limits && limitsMessage(limits),
  expiry: expiryMessage(expiresAt),
});

/** The token alone on stdout, so that it can be taken from there. */
async function show(
  given: Given,
  made: { id: string; name: string; token: string },
): Promise<void> {
  const loss = "the token counts, and was not shown: revoke or rotate it";
  await deliver(given.has("json") ? JSON.stringify(made) : made.token, loss);
  if (!given.has("json")) say(`${made.name} (${made.id}): the token is shown only now`);
}
