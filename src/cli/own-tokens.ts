/** `lintel own-tokens`: the tokens that a caller makes for itself, at a Lintel that lets it in by a JWT. */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { type Token, TokensService } from "../../gen/lintel/v1/tokens_pb.js";
import { spelled } from "../config/quantities.js";
import { tokenObject, tokensObject } from "../doors/rest/account.js";
import { serverOptions, withServer } from "./client.js";
import { type Command, type Given, type Group, UsageError } from "./command.js";
import { deliver, out, printable, say } from "./output.js";
import { minuteOf, table } from "./table.js";
import { expiryHelp, expiryOption } from "./token-options.js";

const where = {
  server: serverOptions.server,
  token: { ...serverOptions.token, help: "the JWT of your issuer (default: $LINTEL_TOKEN)" },
};

const json = { help: "for programs: JSON, as REST answers it" } as const;

const create: Command = {
  summary: "makes a token that stands for you, for a program that can't sign in",
  details: `Prints the token; this is the only time that it is shown. Whoever shows it is you: what they use counts
for you. How many you may have, and for how long, "lintel own-tokens list" tells.`,
  options: {
    name: { value: "NAME", short: "n", help: "what to call it, for example laptop" },
    expires: { value: "WHEN", help: `${expiryHelp} (default: as late as may be)` },
    json,
    ...where,
  },
  run(given) {
    const name = given.text("name")?.trim();
    if (!name) throw new UsageError("own-tokens create needs --name NAME");
    const request = { name, ttlSeconds: ttlOf(given) };
    return withServer(given, TokensService, async (client, options) => {
      const { token, secret } = await client.createToken(request, options);
      const made = { token: tokenObject(token), secret };
      const loss = "the token counts, and was not shown: revoke it";
      await deliver(given.has("json") ? JSON.stringify(made) : secret, loss);
      if (!given.has("json")) {
        say(`${name} (${token?.id}): the token is shown only now, and counts until ${ends(token)}`);
      }
      return 0;
    });
  },
};

const list: Command = {
  summary: "lists the tokens that you made",
  options: { json, ...where },
  run: (given) =>
    withServer(given, TokensService, async (client, options) => {
      const listed = await client.listTokens({}, options);
      if (given.has("json")) {
        out(JSON.stringify(tokensObject(listed), undefined, 2));
        return 0;
      }
      const { tokens, maxTokens, maxTtlSeconds } = listed;
      const rows = tokens.map((token) => {
        const { id, name, createdAt } = token;
        return [printable(name), id, timeOf(createdAt), ends(token)];
      });
      if (rows.length === 0) say("you have no tokens");
      else out(table(["NAME", "ID", "CREATED", "EXPIRES"], rows));
      say(`you may have ${maxTokens}, for up to ${spelled(maxTtlSeconds * 1000)}`);
      return 0;
    }),
};

const revoke: Command = {
  summary: "ends a token that you made",
  operand: "NAME",
  details: "NAME is the token's name or its id.",
  options: where,
  run: (given) =>
    withServer(given, TokensService, async (client, options) => {
      const { token } = await client.revokeToken({ token: given.operand }, options);
      say(`${printable(token?.name ?? "")}: revoked`);
      return 0;
    }),
};

export const ownTokens: Group = { commands: { create, list, revoke } };

/** For how many seconds a token is to count; 0: for as many as it may. @throws UsageError */
function ttlOf(given: Given): number {
  const at = expiryOption(given);
  if (at === undefined) return 0;
  if (at === null)
    throw new UsageError(`--expires must be ${expiryHelp}: such a token always ends`);
  // What the contract has no number for is longer than any may count.
  return Math.min(Math.ceil((at - Date.now()) / 1000), 2 ** 31 - 1);
}

const ends = (token: Token | undefined): string => timeOf(token?.expiresAt);

const timeOf = (time: Timestamp | undefined): string => (time ? minuteOf(timestampMs(time)) : "");
