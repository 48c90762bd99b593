/** What an operator can set about where calls go. Times in milliseconds. */
import { type PassHeaders, passesNone } from "./pass-headers.js";
import type { QuotaSettings } from "./quota.js";

/** One of the places that serve a model. */
export interface TargetSettings extends QuotaSettings {
  /** Name of the backend. */
  readonly backend: string;
  /** Name by which the backend knows the model; a `*` in it stands for what the `*` of the model's name fits. Absent: the model's name. */
  readonly model?: string | undefined;
  /** Its share among targets of the same priority, above 0. Default 1. */
  readonly weight?: number | undefined;
  /** Lower ones are asked first. Default 0. */
  readonly priority?: number | undefined;
  /** Most requests at once; of the model's, the target's and everybody's the smallest counts. */
  readonly maxInFlight?: number | undefined;
}

/** A model that gets a share of another one's calls as well, and whose answers nobody sees. */
export interface MirrorSettings {
  /** Name of the backend. */
  readonly backend: string;
  /** Name by which the backend knows the model; a `*` in it stands for what the `*` of the model's name fits. Absent: as that whose calls they are. */
  readonly model?: string | undefined;
  /** Share of the calls, 0 to 1. Default: `mirrorDefaults`. */
  readonly share?: number | undefined;
  /** Most mirrored calls at once; further ones are not mirrored. Default: `mirrorDefaults`. */
  readonly maxInFlight?: number | undefined;
}

/** The product's values. */
export const mirrorDefaults = { share: 1, maxInFlight: 16 };

/** How long things may take; what is absent is not limited here. */
export interface RouteTimeouts {
  /** To connect to a model server, where one is reached over a network. */
  readonly connect?: number | undefined;
  /** From the request to the first message of a streamed answer. */
  readonly firstToken?: number | undefined;
  /** Between two messages of a streamed answer. */
  readonly betweenTokens?: number | undefined;
}

/** When a call is tried again. */
export interface RetrySettings {
  /** Most attempts of one call, the first included. */
  readonly attempts: number;
  /** Further attempts may be this share of all requests … */
  readonly budget: number;
  /** … and this many besides … */
  readonly floor: number;
  /** … within this time. */
  readonly windowMs: number;
  /** Pause before a target is asked again; doubles each time, and half of it is chance. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Whether another target is asked where the moderation of one refuses a prompt, or blocks the whole answer. */
  readonly blocked: boolean;
}

/** When a target is taken out, and how it comes back. */
export interface HealthSettings {
  /** Failures in a row that take a target out. */
  readonly failures: number;
  /** Share of failures within the window that does so too, … */
  readonly failureRate: number;
  /** … once there were this many requests in it. */
  readonly samples: number;
  readonly windowMs: number;
  /** How long it stays out before one call tries it; doubles each time that fails. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Questions to backends how they are, without a call; absent: none. */
  readonly check?: HealthCheckSettings | undefined;
}

/** Active health checks. */
export interface HealthCheckSettings {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Names of the backends to ask; absent: all. */
  readonly backends?: readonly string[] | undefined;
}

/** Calls that wait for a target with room. */
export interface QueueSettings {
  /** Most calls that wait for one target. */
  readonly size: number;
  /** Longest time that a call waits. */
  readonly timeoutMs: number;
}

/** A second target is asked where the first one is slow to begin. */
export interface HedgeSettings {
  /** Of the recent times to the first message, 1 to 99: as long is waited. */
  readonly percentile: number;
  /** Is waited at least. */
  readonly leastMs: number;
}

/** All of it. */
export interface RoutingSettings {
  /** Headers of callers that backends are told. */
  readonly passHeaders: PassHeaders;
  /** Headers whose value keeps a session at one target, in lower case: the first that a call has. */
  readonly affinityHeaders: readonly string[];
  /** Whether calls without such a header and without a `prompt_cache_key` meet by how their conversation begins. */
  readonly affinity: "key" | "conversation";
  /** Most requests at once at one target; absent: any number. */
  readonly maxInFlight?: number | undefined;
  readonly queue: QueueSettings;
  readonly retry: RetrySettings;
  readonly health: HealthSettings;
  /** Absent: no hedging. */
  readonly hedge?: HedgeSettings | undefined;
  readonly timeouts: RouteTimeouts;
}

/** The product's values. */
export const routingDefaults: RoutingSettings = {
  passHeaders: passesNone,
  // As clients send them that say so by themselves: OpenCode the second, Claude Code the third.
  affinityHeaders: ["x-session-id", "x-session-affinity", "x-claude-code-session-id"],
  affinity: "key",
  queue: { size: 256, timeoutMs: 30_000 },
  retry: {
    attempts: 3,
    budget: 0.2,
    floor: 10,
    windowMs: 10_000,
    firstPauseMs: 50,
    longestPauseMs: 2000,
    blocked: false,
  },
  health: {
    failures: 5,
    failureRate: 0.5,
    samples: 20,
    windowMs: 30_000,
    firstPauseMs: 1000,
    longestPauseMs: 60_000,
  },
  timeouts: {},
};
