/** What each method of administration does that is about tokens. */
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  CreateTokenResponseSchema,
  GetTokenResponseSchema,
  ListTokensResponseSchema,
  RevokeTokenResponseSchema,
  RotateTokenResponseSchema,
  UpdateTokenResponseSchema,
} from "../../../gen/lintel/admin/v1/tokens_pb.js";
import { isNetwork, networkMessage } from "../callers/addresses.js";
import { changedLimits } from "../callers/changed-limits.js";
import type { NotRotated } from "../callers/registry.js";
import { graceEnd, type StoredToken } from "../callers/store.js";
import { checkTokenName, noBlanks, noSuchToken } from "../callers/token-name.js";
import { LintelError } from "../errors.js";
import { stars } from "../pattern.js";
import { durationOf, expiryOf, type Into, limitsOf, pageToken, placeIn } from "./fields.js";
import { tokenMessage } from "./messages.js";
import type { MethodSettings } from "./settings.js";
import type { AdminState } from "./state.js";
import { type Handlers, refuse, type Work } from "./work.js";

/** Tokens of a page, where no number is asked for. */
const tokensOfPage = 1000;

/** By name of the method. @throws LintelError */
export const tokenHandlers: Pick<
  Handlers,
  "createToken" | "listTokens" | "getToken" | "updateToken" | "rotateToken" | "revokeToken"
> = {
  async createToken(request, { state, settings, found, about }) {
    const { name, team } = request;
    checkTokenName(name, found);
    const wanted = {
      name,
      models: modelsOf(request.models?.names, found),
      from: networksOf(request.fromAddresses?.networks, found),
      // None of its own where it has that of every caller.
      limits: changedLimits(undefined, limitsOf(request.limits, found)),
      team: teamOf(team, found) || undefined,
      expiresAt: expiryOf(request.expiry, found) ?? undefined,
    };
    refuse(found);
    const { policy } = settings;
    const refusal = policy.refusal(name);
    if (refusal !== undefined) throw taken(refusal);
    const issued = await state.tokens.create(wanted);
    if (!issued) throw taken(`a token is called ${quoted(name)} already`);
    about(issued.token);
    const warnings = [
      ...policy.teamWarnings(wanted.team),
      ...policy.fromWarnings(wanted.from),
      ...policy.warnings(),
    ];
    const { secret } = issued;
    return create(CreateTokenResponseSchema, {
      ...{ token: tokenMessage(issued.token), secret, warnings },
    });
  },

  async listTokens({ includeRevoked, pageSize, pageToken: place, owner }, { state, found }) {
    const [createdAt, id] = placeIn(place, ["number", "string"], found) ?? [];
    refuse(found);
    const limit = pageSize || tokensOfPage;
    const after = id === undefined ? undefined : { createdAt: Number(createdAt), id: String(id) };
    const some = await state.tokens.list({
      ...{ after, liveOnly: !includeRevoked, limit: limit + 1 },
      owner: owner || undefined,
    });
    const shown = some.slice(0, limit);
    const last = some.length > limit ? shown.at(-1) : undefined;
    return create(ListTokensResponseSchema, {
      tokens: shown.map(tokenMessage),
      nextPageToken: last ? pageToken([last.createdAt, last.id]) : "",
    });
  },

  async getToken({ token: which }, { state, found, about }) {
    refuse(found);
    const token = await state.tokens.get(which);
    if (!token) throw noToken(which);
    about(token);
    return create(GetTokenResponseSchema, { token: tokenMessage(token) });
  },

  async updateToken(request, { state, settings, found, about }) {
    const { models, fromAddresses: from, team } = request;
    const change = {
      models: models && (modelsOf(models.names, found) ?? null),
      from: from && (networksOf(from.networks, found) ?? null),
      limits: limitsOf(request.limits, found),
      team: team === undefined ? undefined : teamOf(team, found) || null,
      expiresAt: expiryOf(request.expiry, found),
    };
    refuse(found);
    const { policy } = settings;
    const token = await state.tokens.update(request.token, change);
    if (!token) throw await notChanged(request.token, state, about);
    about(token);
    return create(UpdateTokenResponseSchema, {
      token: tokenMessage(token),
      warnings: [
        ...policy.teamWarnings(change.team ?? undefined),
        ...policy.fromWarnings(change.from ?? undefined),
      ],
      appliesWithin: within(settings),
    });
  },

  async rotateToken(request, { state, settings, found, about }) {
    const rotation = {
      graceMs: durationOf(request.grace, "grace", found) ?? 0,
      expiresAt: expiryOf(request.expiry, found),
      force: request.force,
    };
    refuse(found);
    const rotated = await state.tokens.rotate(request.token, rotation);
    if (!rotated) throw await notChanged(request.token, state, about);
    about(rotated.token);
    if ("refused" in rotated) throw notRotated(rotated.refused, rotated.token);
    return create(RotateTokenResponseSchema, {
      token: tokenMessage(rotated.token),
      secret: rotated.secret,
      appliesWithin: within(settings),
    });
  },

  async revokeToken({ token: which }, { state, settings, found, about }) {
    refuse(found);
    const token = await state.tokens.revoke(which);
    if (!token) throw noToken(which);
    about(token);
    return create(RevokeTokenResponseSchema, {
      token: tokenMessage(token),
      appliesWithin: within(settings),
    });
  },
};

const within = ({ refreshMs }: MethodSettings) =>
  refreshMs === undefined ? undefined : durationFromMs(refreshMs);

const quoted = (name: string) => JSON.stringify(name);

const taken = (message: string) => new LintelError("already_exists", message, { param: "name" });

const noToken = (which: string): LintelError =>
  noSuchToken(which, `there is no token ${quoted(which)} that counts`);

/** Why a token was not changed, or not rotated. */
async function notChanged(
  which: string,
  { tokens }: AdminState,
  about: Work["about"],
): Promise<LintelError> {
  const token = await tokens.get(which);
  if (!token?.owner || token.revokedAt !== undefined) return noToken(which);
  about(token);
  const message = `${quoted(token.owner.caller)} made the token ${token.id}: it may do what its owner may, and can only be revoked`;
  return new LintelError("failed_precondition", message, { param: "token" });
}

function notRotated(refused: NotRotated, token: StoredToken): LintelError {
  const time = (ms = 0) => new Date(ms).toISOString();
  const { name, expiresAt } = token;
  if (refused === "raced") {
    const message = `the token ${quoted(name)} was rotated by somebody else at the same time: their new token counts`;
    return new LintelError("aborted", message, { param: "token" });
  }
  const [message, param] =
    refused === "expired"
      ? [
          `the token ${quoted(name)} expired at ${time(expiresAt)}: give it another expiry`,
          "expiry",
        ]
      : [
          `the token that ${quoted(name)} had before still counts until ${time(graceEnd(token))}: rotate it after that, or by force, which ends that one now`,
          "force",
        ];
  return new LintelError("failed_precondition", message, { param });
}

function teamOf(team: string, into: Into): string {
  if (team !== team.trim()) into.push({ field: "team", message: noBlanks });
  return team;
}

function networksOf(
  networks: readonly string[] | undefined,
  into: Into,
): readonly string[] | undefined {
  for (const [i, network] of (networks ?? []).entries()) {
    // Of an empty one the rules of the field tell.
    if (network === "" || isNetwork(network)) continue;
    into.push({ field: `from_addresses.networks[${i}]`, message: networkMessage });
  }
  return networks && networks.length > 0 ? [...networks] : undefined;
}

function modelsOf(names: readonly string[] | undefined, into: Into): string[] | undefined {
  for (const [i, name] of (names ?? []).entries()) {
    const message = "must have at most one *";
    if (stars(name) > 1) into.push({ field: `models.names[${i}]`, message });
  }
  return names && names.length > 0 ? [...names] : undefined;
}
