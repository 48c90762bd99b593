/** Tokens as `lintel tokens` shows them. */
import { State, type Token } from "../../gen/lintel/admin/v1/tokens_pb.js";
import { limitsWritten } from "../config/caller-limits.js";
import { tokenOf } from "../core/admin/messages.js";
import { limitsInWords } from "./limit-options.js";
import { printable } from "./output.js";
import { minuteOf, table } from "./table.js";

const heading = ["NAME", "ID", "STATE", "TEAM", "MODELS", "LIMITS", "CREATED", "EXPIRES"];

/** Tokens as a table; from where they may be used, and who made them, stand in it only where that is said of one. */
export function tableOf(tokens: readonly Token[]): string {
  const isLimited = tokens.some(({ fromAddresses }) => fromAddresses.length > 0);
  const isOwn = tokens.some(({ owner }) => owner !== "");
  const rows = tokens.map((token) => [
    ...rowOf(token),
    ...(isLimited ? [token.owner ? "" : token.fromAddresses.join(" ") || "everywhere"] : []),
    ...(isOwn ? [printable(token.owner)] : []),
  ]);
  return table([...heading, ...(isLimited ? ["FROM"] : []), ...(isOwn ? ["OWNER"] : [])], rows);
}

function rowOf(message: Token): string[] {
  const { name, id, team = "", models, limits, createdAt, expiresAt, owner } = tokenOf(message);
  // What its owner may do is for the configuration to say.
  const given = owner ? ["", ""] : [models?.join(" ") ?? "all", limitsInWords(limits)];
  return [
    name,
    id,
    stateOf(message),
    team,
    ...given,
    minuteOf(createdAt),
    expiresAt === undefined ? "never" : minuteOf(expiresAt),
  ];
}

/** What `--json` tells of a token; nothing that leads to it. */
export function entryOf(message: Token) {
  const { id, name, owner, team, models, from, limits, ...times } = tokenOf(message);
  const { createdAt, expiresAt, revokedAt } = times;
  const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    id,
    name,
    owner: owner ?? null,
    state: stateOf(message),
    team: team ?? null,
    models: models ?? null,
    from: from ?? null,
    limits: limits ? limitsWritten(limits) : null,
    created: time(createdAt),
    expires: time(expiresAt),
    revoked: time(revokedAt),
  };
}

function stateOf({ state, previousExpireTime }: Token): string {
  if (state === State.REVOKED) return "revoked";
  if (state === State.EXPIRED) return "expired";
  return previousExpireTime ? "active, two tokens" : "active";
}
