/** How much a model on a backend may be asked for in a minute, as whoever runs it allows. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { estimatePrompt } from "../estimate.js";
import { isChat } from "../methods.js";
import { Minute } from "./minute.js";

/** What may be used in any 60 seconds; what is absent is not limited. */
export interface QuotaSettings {
  /** Attempts, whatever becomes of them. */
  readonly requestsPerMinute?: number | undefined;
  /** Of prompts and completions together. */
  readonly tokensPerMinute?: number | undefined;
}

/** One quantity of a quota. */
export interface QuotaPart {
  /** In the last minute, by all gateways, as far as they told. */
  readonly used: number;
  readonly limit: number;
}

/** How a quota stands. */
export interface QuotaSnapshot {
  readonly requests?: QuotaPart;
  readonly tokens?: QuotaPart;
}

const minuteMs = 60_000;

/** What others used is known no better: it is looked again then at the earliest. */
const leastMs = 1000;

/** What was used of one quantity, here and elsewhere. */
class Used {
  readonly here = new Minute();
  #elsewhere = 0;
  #heardAt = Number.NEGATIVE_INFINITY;

  /** By other gateways in their last minute. */
  hear(amount: number, now: number): void {
    this.#elsewhere = amount;
    this.#heardAt = now;
  }

  sum(now: number): number {
    return this.here.sum(now) + this.#others(now);
  }

  /** When something is left of a limit; 0: now. */
  roomAt(limit: number, now: number): number {
    const here = this.here.sum(now);
    const others = this.#others(now);
    const excess = here + others - limit + 1;
    if (excess <= 0) return 0;
    // When the others' will be over they don't tell: as one's own, or evenly.
    if (here <= 0) return now + Math.max(leastMs, minuteMs * Math.min(1, excess / others));
    return this.here.fallsTo(here - (excess * here) / (here + others), now);
  }

  /** Where nobody can be asked any more, what they told last counts as long as it may. */
  #others(now: number): number {
    return now - this.#heardAt < minuteMs ? this.#elsewhere : 0;
  }
}

/** What was used of one model on one backend: it goes on when the configuration changes. */
export class QuotaUse {
  readonly requests = new Used();
  readonly tokens = new Used();
}

/** All that was used, by `targetKey`. */
export class QuotaUses {
  readonly #uses = new Map<string, QuotaUse>();

  of(key: string): QuotaUse {
    const known = this.#uses.get(key);
    if (known) return known;
    const use = new QuotaUse();
    this.#uses.set(key, use);
    return use;
  }
}

/** The quota of one model on one backend. A call goes there as long as anything is left of it. */
export class Quota {
  readonly #use: QuotaUse;
  #requests = Number.POSITIVE_INFINITY;
  #tokens = Number.POSITIVE_INFINITY;

  constructor(use: QuotaUse) {
    this.#use = use;
  }

  /** Of several settings the smallest counts. */
  bound({ requestsPerMinute, tokensPerMinute }: QuotaSettings): void {
    this.#requests = Math.min(this.#requests, requestsPerMinute ?? this.#requests);
    this.#tokens = Math.min(this.#tokens, tokensPerMinute ?? this.#tokens);
  }

  /** Whether tokens are limited. */
  get countsTokens(): boolean {
    return this.#tokens !== Number.POSITIVE_INFINITY;
  }

  /** Whether anything is left of each quantity. */
  hasRoom(now: number): boolean {
    const { requests, tokens } = this.#use;
    return requests.sum(now) < this.#requests && tokens.sum(now) < this.#tokens;
  }

  /** When something is left of it; 0: now. */
  roomAt(now: number): number {
    const { requests, tokens } = this.#use;
    return Math.max(requests.roomAt(this.#requests, now), tokens.roomAt(this.#tokens, now));
  }

  /** A request goes out. @param tokens of its prompt, as far as they are known */
  take(tokens: number, now: number): void {
    this.#use.requests.here.add(1, now);
    if (tokens > 0) this.#use.tokens.here.add(tokens, now);
  }

  /** One that was taken just now does not go out. */
  giveBack(tokens: number, now: number): void {
    this.#use.requests.here.add(-1, now);
    if (tokens > 0) this.#use.tokens.here.add(-tokens, now);
  }

  /**
   * A request used these tokens.
   * @param more of its prompt than were taken; less where it is below 0
   * @param since when it began
   */
  used(more: number, completion: number, since: number, now: number): void {
    const { here } = this.#use.tokens;
    here.correct(more, since, now);
    here.add(completion, now);
  }

  /** What other gateways used in their last minute. */
  hear(requests: number, tokens: number, now: number): void {
    this.#use.requests.hear(requests, now);
    this.#use.tokens.hear(tokens, now);
  }

  /** What was used here in the last minute. */
  here(now: number): { readonly requests: number; readonly tokens: number } {
    const { requests, tokens } = this.#use;
    return { requests: requests.here.sum(now), tokens: tokens.here.sum(now) };
  }

  /** @param now as the clock says */
  snapshot(now: number): QuotaSnapshot {
    const part = (used: Used, limit: number): QuotaPart | undefined =>
      limit === Number.POSITIVE_INFINITY ? undefined : { used: used.sum(now), limit };
    const requests = part(this.#use.requests, this.#requests);
    const tokens = part(this.#use.tokens, this.#tokens);
    return { ...(requests && { requests }), ...(tokens && { tokens }) };
  }
}

/** Tokens that a call's prompt counts as until its server tells; 0 where no quota counts them. */
export const promptTokensOf = (
  quota: Quota | undefined,
  { method, request }: Pick<Call, "method" | "request">,
): number => (quota?.countsTokens && isChat(method) ? estimatePrompt(request as LLMRequest) : 0);
