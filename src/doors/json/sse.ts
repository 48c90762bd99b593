/** Streams as Server-Sent Events. */

import type { FastifyReply } from "fastify";
import type { CallSignal } from "../../core/cancellation.js";
import { type LintelError, toLintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import type { MethodName, Output } from "../../core/methods.js";
import type { DoorSettings } from "../door.js";
import { sendError } from "./error.js";
import { EventWriter } from "./event-writer.js";
import { headersOf } from "./headers.js";

/** Where events go. */
export interface EventSink {
  /** @param bytes of these, as UTF-8; counted where they are not known */
  add(events: string, bytes?: number): void;
}

/** How a door writes the messages of one stream. All that it adds or gives is whole events, or nothing. */
export interface EventEncoder<M extends MethodName> {
  /** All messages that came at once. */
  messages(batch: readonly Output<M>[], to: EventSink): void;
  /** A failure in mid-stream. */
  failure(error: LintelError): string;
  /** What stands between a complete answer and `[DONE]`. */
  end(): string;
}

/** One event with an object that is JSON text already. */
export const event = (json: string): string => `data: ${json}\n\n`;

const done = event("[DONE]");

/**
 * Sends a call's messages as events, then `[DONE]`. The status waits for the
 * first messages, at most `holdMs`: a failure until then is sent as a whole
 * response. A client that reads slowly stops the iteration; one that left does
 * not, since the call hears of it by its signal and has to come to its end.
 * Never rejects.
 * @param signal aborted when the client left
 * @param notes warnings of the door itself
 */
export async function sendEvents<M extends MethodName>(
  reply: FastifyReply,
  running: Running<M>,
  encoder: EventEncoder<M>,
  settings: DoorSettings,
  signal: CallSignal,
  notes: readonly string[] = [],
): Promise<void> {
  const iterator = running.messages[Symbol.asyncIterator]();
  const first = iterator.next();
  const early = await outcome(first, settings.holdMs);
  if (typeof early === "object") {
    sendError(reply, toLintelError(early.thrown), running, notes);
    return;
  }
  const writer = new EventWriter(reply, headersOf(running, notes), settings.keepAliveMs, signal);
  if (early === "pending") writer.flushHead();
  try {
    for (let step = await first; !step.done; step = await iterator.next()) {
      encoder.messages(step.value, writer);
      const full = writer.full();
      if (full) await full;
    }
    writer.end(encoder.end() + done);
  } catch (thrown) {
    writer.end(encoder.failure(toLintelError(thrown)) + done);
  }
}

/** What became of the first messages within a time. */
function outcome(
  first: Promise<unknown>,
  holdMs: number,
): Promise<"there" | "pending" | { readonly thrown: unknown }> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, holdMs, "pending");
    const settle = (result: "there" | { readonly thrown: unknown }) => {
      clearTimeout(timer);
      resolve(result);
    };
    first.then(
      () => settle("there"),
      (thrown: unknown) => settle({ thrown }),
    );
  });
}
