/** What an operator can set about the core. Defaults stand in `coreDefaults`. */

import type { OwnLimits } from "./limits/settings.js";
import { type CallLogSettings, callLogDefaults } from "./log-call.js";
import type { Reading } from "./prompts.js";
import {
  type HedgeSettings,
  type MirrorSettings,
  type RouteTimeouts,
  type RoutingSettings,
  routingDefaults,
  type TargetSettings,
} from "./routing/settings.js";

/** A token that the operator issued. */
export interface IssuedToken {
  /** Who it was issued to; names the caller in logs and limits. */
  readonly name: string;
  /** `sha256:` and 64 hex digits. */
  readonly hash: string;
  /** Names of the models it may use, or patterns with one `*`; absent: all. */
  readonly models?: readonly string[] | undefined;
  /** Addresses and networks that it may be used from; absent: everywhere. */
  readonly from?: readonly string[] | undefined;
  readonly limits?: OwnLimits | undefined;
  /** Name of the team that its holder is a member of. */
  readonly team?: string | undefined;
  /** Until when it counts, milliseconds since the epoch; absent: for ever. */
  readonly expiresAt?: number | undefined;
}

/** What the members of a team may use. */
export interface Team {
  readonly name: string;
  /** Names of models, or patterns with one `*`; absent: all. */
  readonly models?: readonly string[] | undefined;
}

/** Who may call: anybody with some bearer token, only issued tokens, or really anybody. */
export type AuthSettings =
  | { readonly mode: "public" }
  | {
      readonly mode: "token";
      readonly tokens: readonly IssuedToken[];
      /** Those that the operator says something of; tokens may be of others. */
      readonly teams?: readonly Team[] | undefined;
    }
  | { readonly mode: "none" };

/** Bounds that replace the contract's, both inclusive. */
export interface Bound {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/**
 * By field name of the contract, for example `temperature` or `messages` (its number of
 * items); besides `prompts` and `loras`, their number.
 */
export type Bounds = Readonly<Record<string, Bound>>;

/** What to do with a parameter that a model does not support. */
export type UnsupportedPolicy =
  /** Drop what only tunes, refuse what changes the result. */
  | "default"
  /** Drop all, and warn. */
  | "ignore"
  /** Refuse all. */
  | "reject";

/** Settings of one model, or an alias for one. */
export interface ModelSettings {
  /** Name that callers use; one `*` in it stands for anything. */
  readonly name: string;
  /** Further names. Calls under them count as calls of this model. */
  readonly aliases?: readonly string[] | undefined;
  /** Where it is served; absent: as `backends` and `model` say. */
  readonly targets?: readonly TargetSettings[] | undefined;
  /** Names of the backends that serve it, in order of preference; absent: all that have it. */
  readonly backends?: readonly string[] | undefined;
  /** Name by which the backends know it; absent: the same. */
  readonly model?: string | undefined;
  /** Defaults instead of the contract's, by field name. */
  readonly defaults?: Readonly<Record<string, number>> | undefined;
  /** How much it thinks where a request does not say; absent: as it does by itself. */
  readonly reasoningEffort?: string | undefined;
  /** Most tokens of one completion. */
  readonly maxTokens?: number | undefined;
  /** Most tokens of a conversation with its answer, as it is listed; absent: what its server says. */
  readonly contextLength?: number | undefined;
  /** How `|` in a prompt is read. */
  readonly prompt?: Reading | undefined;
  readonly unsupported?: UnsupportedPolicy | undefined;
  /** Replace those of all models, one by one; milliseconds. */
  readonly timeouts?: (RouteTimeouts & { readonly total?: number | undefined }) | undefined;
  /** Most requests at once at each of its targets. */
  readonly maxInFlight?: number | undefined;
  readonly hedge?: HedgeSettings | undefined;
  /** Models that get a share of its calls as well, and whose answers nobody sees. */
  readonly mirrors?: readonly MirrorSettings[] | undefined;
  /** How long its answers are kept for who asks the same, milliseconds; 0: not at all. Absent: as those of all models. */
  readonly cacheTtlMs?: number | undefined;
}

/** What is kept of answers, for who asks the same. */
export interface CacheSettings {
  /** How long, where a model's own settings don't say, milliseconds; absent: not at all. */
  readonly ttlMs?: number | undefined;
  /** Whose answers a caller gets: their own, those of their team, if they have one, or everybody's. */
  readonly scope: "caller" | "team" | "all";
  /** Largest answer that is kept. */
  readonly maxAnswerBytes: number;
}

/** Settings of the core. */
export interface CoreSettings {
  readonly auth: AuthSettings;
  /** Hashes of administrators' tokens, which open no calls; absent: there are none. */
  readonly administrators?: readonly string[] | undefined;
  /** A default outside of them is moved to the next value within. */
  readonly bounds: Bounds;
  /** Hosts at whose addresses images in messages may be, or patterns with one `*`; none: they come as `data:` only. */
  readonly imageHosts: readonly string[];
  readonly defaultModels: {
    readonly chat?: string | undefined;
    readonly image?: string | undefined;
  };
  readonly models: readonly ModelSettings[];
  /** Longest time that one call may take, milliseconds. */
  readonly totalTimeoutMs: number;
  /** What happens to an image that the safety check finds harmful. */
  readonly safetyAction: "flag" | "blur" | "block";
  /** What happens to images while the safety checker fails. */
  readonly safetyOnFailure: "closed" | "open";
  readonly routing: RoutingSettings;
  readonly callLog: CallLogSettings;
  readonly cache: CacheSettings;
  /** Whether the list of models says where they come from: files, kinds of servers. */
  readonly exposeSources: boolean;
  /**
   * Whether callers are gateways, which say what `|` in a prompt means (`readingHeader`), and what
   * goes on with a request (`begunHeader`). Default: they are not, and it is for the operator to say.
   */
  readonly servesGateways?: boolean | undefined;
}

/** The contract's values. */
export const coreDefaults: CoreSettings = {
  auth: { mode: "public" },
  bounds: {},
  imageHosts: ["*"],
  defaultModels: {},
  models: [],
  totalTimeoutMs: 600_000,
  safetyAction: "flag",
  safetyOnFailure: "closed",
  routing: routingDefaults,
  callLog: callLogDefaults,
  cache: { scope: "caller", maxAnswerBytes: 2 ** 20 },
  exposeSources: false,
};
