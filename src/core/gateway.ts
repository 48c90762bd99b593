/** What a door gets of Lintel. */
import type { Admission } from "./call.js";
import type { TokenCounts } from "./call-attributes.js";
import type { CallSignal } from "./cancellation.js";
import type { LintelError } from "./errors.js";
import type { Logger } from "./log.js";
import type { MediaStore } from "./media.js";
import type { Input, MethodName, Output } from "./methods.js";

/** Where a call comes from: all that a door says besides the request. */
export interface Origin {
  /** The door, for example `"rest"`; for logs and metrics. */
  readonly door: string;
  /** The bearer token as presented. */
  readonly credential?: string | undefined;
  /** What `admit` said of it; absent: the call asks itself. */
  readonly admission?: Admission | undefined;
  /** The address that the request came from, where nobody is let in yet, or an administrator is; for the log. */
  readonly client?: string | undefined;
  /** What was wrong while decoding; thrown once the caller is authenticated. */
  readonly defect?: LintelError | undefined;
  /** Aborted when the caller leaves. */
  readonly signal: CallSignal;
  /** The caller's own deadline, milliseconds from now. */
  readonly timeoutMs?: number | undefined;
  /** `x-request-id` as the caller sent it; taken over if it is well formed. */
  readonly requestId?: string | undefined;
  /** What a header or an entry of RPC metadata says, by its name in lower case. */
  readonly header?: ((name: string) => string | undefined) | undefined;
  /** `Idempotency-Key` as the caller sent it. */
  readonly idempotencyKey?: string | undefined;
  /** Whether a `max_tokens` above the model's cap is cut to it, where clients have to send one. Default: it is refused. */
  readonly cutsTokens?: boolean | undefined;
  /**
   * What the caller's address of the gateway begins with, without a slash at the
   * end, as a trusted proxy says; absent: as the gateway knows it; null: the caller
   * is told none, and nothing is kept for it.
   */
  readonly baseUrl?: string | null | undefined;
}

/** A call that was started. Nothing runs before `messages` is iterated. */
export interface Running<M extends MethodName> {
  /** Request id; doors send it as `x-request-id`. */
  readonly id: string;
  /** Name of the model after defaults and aliases were applied; absent until it is found. */
  readonly model: string | undefined;
  /** Grows while the call runs; complete for the header once the first message is there. */
  readonly warnings: Iterable<string>;
  /** For headers or RPC metadata; complete once the first message is there, or the call failed. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Of what was delivered so far; grow while the call runs. */
  readonly counts: Readonly<TokenCounts>;
  /** The answer, to be iterated once. Failures are thrown as `LintelError`. */
  readonly messages: AsyncIterable<readonly Output<M>[]>;
}

/** The state of the whole process. */
export interface Readiness {
  /** False while shutting down. */
  readonly accepting: boolean;
  /** Aborted when that begins. */
  readonly leaving: CallSignal;
  /** Calls that run now. */
  readonly running: number;
}

/** The address that a request came from; `undefined` where there is none. */
export type ClientOf<H, B> = (headers: H, by: B) => string | undefined;

/** Lintel, as doors see it. */
export interface Gateway {
  /**
   * Finds out who presents a credential, before anything is read or decoded for them. Never
   * throws or rejects. The call is made in any case, with an empty request where the answer is
   * an error: so refusals are logged and counted like all calls. An answer that is at hand comes
   * at once and not as a promise.
   * @param clientOf asked where a token may be used from some addresses alone
   * @param headers of the request
   * @param by what it came by
   */
  admit<H, B>(
    credential: string | undefined,
    clientOf: ClientOf<H, B>,
    headers: H,
    by: B,
  ): Admission | Promise<Admission>;
  /** Starts a call. Never throws: everything that goes wrong comes through `messages`. */
  call<M extends MethodName>(method: M, request: Input<M>, origin: Origin): Running<M>;
  readonly readiness: Readiness;
  readonly log: Logger;
  readonly media: MediaStore | undefined;
}

/**
 * The one message of a unary call.
 * @throws LintelError as the call does
 */
export async function only<M extends MethodName>(running: Running<M>): Promise<Output<M>> {
  const iterator = running.messages[Symbol.asyncIterator]();
  let last: Output<M> | undefined;
  let step = await iterator.next();
  while (!step.done) {
    last = step.value.at(-1);
    step = await iterator.next();
  }
  if (last === undefined) throw noMessage();
  return last;
}

/** A unary handle that ends without a message is a fault of the handle. */
export const noMessage = (): Error => new Error("a unary call ended without a message");
