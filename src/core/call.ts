/**
 * One call on its way through Lintel: what a step may know of it, and what a
 * step is. Nothing here knows HTTP, Fastify or a vendor.
 */
import type { Attributes } from "./call-attributes.js";
import type { Addresses } from "./callers/addresses.js";
import type { TokenOwner, Voucher } from "./callers/own.js";
import type { CallSignal } from "./cancellation.js";
import type { ErrorCode } from "./error-table.js";
import type { LintelError } from "./errors.js";
import type { OwnLimits } from "./limits/settings.js";
import type { Logger } from "./log.js";
import type { Input, MethodName, Output } from "./methods.js";
import type { Reading } from "./prompts.js";
import type { Target } from "./routing/target.js";
import type { ModelSettings } from "./settings.js";
import type { Observation, TraceContext } from "./telemetry.js";
import type { Warnings } from "./warnings.js";

/** Who calls. */
export interface Caller {
  /** Stable name for limits, usage and logs; never the token itself. */
  readonly id: string;
  /**
   * Id of the token that was issued, or name of the issuer that vouches for the
   * caller; absent for callers that nobody knows.
   */
  readonly token?: string | undefined;
  /** Until when what was presented lets its holder in, milliseconds since the epoch; absent: for ever. */
  readonly expiresAt?: number | undefined;
  /** From where what was presented lets its holder in; absent: from everywhere. */
  readonly from?: Addresses | undefined;
  /** Names of the models that the caller may use, or patterns with one `*`; absent: all. */
  readonly models?: readonly string[];
  /** The caller's own limits; they replace those of every caller, one by one. */
  readonly limits?: OwnLimits | undefined;
  /** The team whose limits count the caller's calls together with those of its other members. */
  readonly team?: string | undefined;
  /** Models that the team may use, as `models`: a call needs both. Known once it was let in. */
  readonly teamModels?: readonly string[] | undefined;
  /** The issuer of one who may make tokens; absent: this caller may not, as with such a token. */
  readonly voucher?: Voucher | undefined;
  /** Who made the token for itself, until what that caller may do is known. */
  readonly owner?: TokenOwner | undefined;
}

/** What was found out of a credential: who calls, or why nobody is let in with it. */
export type Admission = Caller | LintelError;

/** Hears of the end of a call. */
export interface CallEnd {
  /**
   * @param code how it ended, as the caller sees it
   * @param error why, where it failed
   */
  ended(code: "ok" | ErrorCode, error?: LintelError): void;
}

/** The life of a call, for steps that hold something while it lasts. */
export interface CallLife {
  /** The listener hears once, however the call ends. */
  onEnd(listener: CallEnd): void;
  /** Ends the call with an error. */
  abort(reason: LintelError): void;
  /**
   * How the call ends is written down: with the next message or failure that the caller gets, whatever
   * its deadline or its caller do meanwhile.
   */
  settle(outcome: "ok" | ErrorCode): void;
  /**
   * The work may go on after the caller left: telemetry and the log wait for its end.
   * @param work resolves at that end; never rejects
   */
  outlast(work: Promise<void>): void;
}

/** A call. Steps hand on a changed copy; `attributes`, `warnings` and `metadata` are shared by all copies. */
export interface Call<M extends MethodName = MethodName> {
  readonly method: M;
  /** The request message. */
  readonly request: Input<M>;
  /** Request id, also sent as `x-request-id`. */
  readonly id: string;
  /** The bearer token as it was presented; absent if there was none. */
  readonly credential?: string | undefined;
  /** What was found out of it before the call; absent: authentication finds out. */
  readonly admission?: Admission | undefined;
  /** What the door found wrong while decoding. Thrown after authentication. */
  readonly defect?: LintelError | undefined;
  /** What tells a repetition of this call from another call, as the caller sent it. */
  readonly idempotencyKey?: string | undefined;
  /** What the caller says of answers that are kept: `Cache-Control`. */
  readonly cacheControl?: string | undefined;
  /** What addresses for the caller begin with; absent: as the gateway knows it; null: it is told none. */
  readonly baseUrl?: string | null | undefined;
  /** Whether a `max_tokens` above the model's cap is cut to it. */
  readonly cutsTokens?: boolean | undefined;
  /** Set by authentication. */
  readonly caller?: Caller | undefined;
  /** Where the call goes, best first. Set by resolution. */
  readonly targets?: readonly Target[] | undefined;
  /** Whether the caller is shown nothing of an image before it is there: it may be begun anew elsewhere. */
  readonly unseen?: boolean | undefined;
  /** Whether images of the same request are made already: no queue is too full for the others. */
  readonly begun?: boolean | undefined;
  /** What `|` in the prompts means, as the gateway says whose node this is. */
  readonly reading?: Reading | undefined;
  /** What the operator set for the model. Set by resolution. */
  readonly modelSettings?: ModelSettings | undefined;
  /**
   * Aborted when the caller left, the deadline passed or the service ends.
   * `signal.reason` is the `LintelError` to report.
   */
  readonly signal: CallSignal;
  /** When the call must be done, by `performance.now`: a clock that is set moves no deadline. */
  readonly deadline?: number | undefined;
  /** Name of the backend that is asked. Set by routing. */
  readonly backend?: string | undefined;
  /** Longest time to connect to a model server, milliseconds; absent: the backend's own. Set by routing. */
  readonly connectMs?: number | undefined;
  /**
   * Tells that the model is at work though there is no message to show for it, as while it
   * thinks for who wants no thoughts: it counts as neither late nor silent then. Set by routing.
   */
  readonly alive?: (() => void) | undefined;
  /** What the header of its session says: calls with the same value go to the same target where they can. */
  readonly affinity?: string | undefined;
  /**
   * What its caller says in headers that some backend is told, by their names in lower case; absent:
   * nothing. Where a backend is asked, what that one is told. Set by routing.
   */
  readonly passed?: ReadonlyMap<string, string> | undefined;
  /** Place in a trace: the caller's own, and for a backend that of the attempt. */
  readonly trace?: TraceContext | undefined;
  /** Absent: nobody watches. */
  readonly observation?: Observation | undefined;
  /** Absent outside of a core. */
  readonly life?: CallLife | undefined;
  readonly log: Logger;
  readonly attributes: Attributes;
  /** What was dropped or could not be done, in words for the caller. */
  readonly warnings: Warnings;
  /**
   * What the caller is told beside the answer: doors send it as headers or RPC
   * metadata. Names in lower case, values in printable ASCII; shared by all copies.
   */
  readonly metadata: Map<string, string>;
}

/** A call for images, in either form. */
export type ImageCall = Call & Call<"textToImage" | "streamTextToImage">;

/**
 * Answers a call. Each step of the iteration carries all the messages that one
 * read from upstream brought, at least one. A unary method is a stream of one
 * message. Failures are thrown as `LintelError`. Cancellation travels by
 * `call.signal`, never by `return()` of the iterator. One whose steps are many
 * has an iterator that tells them (`Steps`), and makes no promise for each.
 */
export type Handle<M extends MethodName = MethodName> = (
  call: Call<M>,
) => AsyncIterable<readonly Output<M>[]>;

/** A step around a handle. */
export type Middleware = (next: Handle) => Handle;

/** Joins steps, the first outermost, around the handle that ends the chain. */
export function compose(steps: readonly Middleware[], end: Handle): Handle {
  return steps.reduceRight((next, step) => step(next), end);
}
