/** What a backend's test gives the contract suite. */

import type { CountTokensResponse, LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import type { Call } from "../../src/core/call.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { silent } from "../../src/core/log.js";
import type { BackendMethod, Input } from "../../src/core/methods.js";
import { Warnings } from "../../src/core/warnings.js";
import { never } from "../support/calls.js";

/** Where a call is held up: before its first message, or after at least one of them. */
export type HoldPoint = "before" | "middle";

/** A call that is held up in the model server or engine. */
export interface Held {
  /** Resolves when the work is under way and stuck (or slow) at the hold point. */
  readonly reached: Promise<void>;
  /** Resolves when the model server or engine has seen the abort and stopped the work. */
  readonly stopped: Promise<void>;
}

/** A hold of a server that says when its work is stuck, and when it has stopped. */
export const held = (server: { onStuck: () => void; onStop: () => void }): Held => ({
  reached: new Promise((resolve) => {
    server.onStuck = resolve;
  }),
  stopped: new Promise((resolve) => {
    server.onStop = resolve;
  }),
});

/** A failure that can be provoked, and how it must come out. */
export interface Failure {
  readonly method: BackendMethod | readonly BackendMethod[];
  readonly code: ErrorCode;
}

/** A fresh backend with whatever it speaks to. */
export interface Subject {
  readonly backend: Backend;
  /**
   * A small request that succeeds, with every default filled in and the name
   * of a model that the backend serves. Two texts must lead to two answers
   * where `distinct` is said to be possible.
   */
  request<M extends BackendMethod>(method: M, text?: string): Input<M>;
  /** The picture that the model server makes for one image with this seed, as PNG. */
  picture?(request: Input<"streamTextToImage">, seed: number): Uint8Array;
  /** Makes the next call of the method hang at the point. */
  hold(method: BackendMethod, at: HoldPoint): Held | Promise<Held>;
  /** Makes the next call fail in the named way. */
  provoke?(failure: string): void | Promise<void>;
  /** Frees what stands around the backend; `backend.close()` has been called. */
  close(): void | Promise<void>;
}

/** What the suite must know before a backend exists. */
export interface Contract {
  /** The methods that the backend serves; the suite checks that it has no more and no fewer. */
  readonly methods: readonly BackendMethod[];
  /** Names of failures for `Subject.provoke`. */
  readonly failures?: Readonly<Record<string, Failure>>;
  /** Checks that don't apply, with the reason, by their key. */
  readonly skips?: { readonly [check in Skippable]?: string };
  /** Called before each check. */
  setup(): Promise<Subject>;
}

/** Checks that some backend may have a reason to skip. */
export type Skippable =
  | "usage"
  | "distinct"
  | "hold before"
  | "hold middle"
  | "hold counting"
  | "seeds"
  | "previews";

/** A call as the core would make it. */
export function callOf<M extends BackendMethod>(
  method: M,
  request: Input<M>,
  signal: AbortSignal = never,
): Call<M> {
  return {
    method,
    request,
    id: "req-contract",
    signal,
    log: silent,
    attributes: { door: "test", attempts: 0, tried: [] },
    warnings: new Warnings(),
    metadata: new Map(),
  };
}

/** What a backend counts of a request's tokens; `undefined`: it has no way to. */
export async function countedBy(
  { handlers }: Backend,
  request: LLMRequest,
  signal?: AbortSignal,
): Promise<CountTokensResponse | undefined> {
  const counted = handlers.countTokens?.(callOf("countTokens", request, signal));
  for await (const [message] of counted ?? []) return message;
  return undefined;
}
