/** What the mounting of an RPC tells the method behind it. */

import type { Message } from "@bufbuild/protobuf";
import { type ContextKey, createContextKey } from "@connectrpc/connect";
import type { FastifyRequest } from "fastify";
import type { Admission } from "../../core/call.js";
import type { CallSignal } from "../../core/cancellation.js";
import type { LintelError } from "../../core/errors.js";
import type { Names } from "../json/rename.js";

/** One request, beyond what the RPC library hands on. */
export interface Arrival {
  /** Aborted when the caller leaves; the library's own is also aborted by the deadline. */
  readonly signal: CallSignal;
  /** `x-request-id`, the caller's if it sent a good one. */
  readonly requestId: string;
  /** Who is let in, or why nobody is; absent: nobody was asked. */
  readonly admission?: Admission | undefined;
  /** What was wrong with a header, or the second time around with the message. */
  readonly defect?: LintelError | undefined;
  /** The second time around, what could be read of the message. */
  readonly message?: Message | undefined;
  /** The second time around, the caller's names of fields where they are not the contract's. */
  readonly names?: Names | undefined;
  /** What was read of a body of JSON, until the method is called. */
  readonly body: Uint8Array[];
  /** Whether the message could be read and the method was called. */
  reached: boolean;
}

/** Where the arrival stands in a call's context. */
export const arrivalKey: ContextKey<Arrival> = createContextKey<Arrival>(
  { signal: new AbortController().signal, requestId: "", body: [], reached: false },
  { description: "arrival" },
);

/** Where Fastify's request stands in a call's context. */
export const requestKey: ContextKey<FastifyRequest | undefined> = createContextKey<
  FastifyRequest | undefined
>(undefined, { description: "request" });
