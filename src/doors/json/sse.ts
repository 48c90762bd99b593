/** Streams as Server-Sent Events. */

import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyReply } from "fastify";
import type { CallSignal } from "../../core/cancellation.js";
import { type LintelError, toLintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import type { MethodName, Output } from "../../core/methods.js";
import { writeAtTurnsEnd } from "../../core/turn.js";
import type { DoorSettings } from "../door.js";
import { sendError } from "./error.js";
import { headersOf } from "./reply.js";

/** How a door writes the messages of one stream. Every result is whole events, or empty. */
export interface EventEncoder<M extends MethodName> {
  /** All messages that came at once. */
  messages(batch: readonly Output<M>[]): string;
  /** A failure in mid-stream. */
  failure(error: LintelError): string;
  /** What stands between a complete answer and `[DONE]`. */
  end(): string;
}

/** One event with an object that is JSON text already. */
export const event = (json: string): string => `data: ${json}\n\n`;

const done = event("[DONE]");
const keepAlive = ": keep-alive\n\n";
/** The end of a body in chunks. */
const lastChunk = "0\r\n\r\n";

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

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
    sendError(reply, toLintelError(early.thrown), running);
    return;
  }
  const writer = openWriter(reply, headersOf(running, notes), settings.keepAliveMs, signal);
  if (early === "pending") writer.flushHead();
  try {
    for (let step = await first; !step.done; step = await iterator.next()) {
      const full = writer.write(encoder.messages(step.value));
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

interface EventWriter {
  /** Sends the headers ahead of the first event. */
  flushHead(): void;
  /** Writes events. If the client has to read first: resolves when it did, or left. */
  write(events: string): Promise<void> | undefined;
  /** Writes the last events and ends the response. */
  end(events: string): void;
}

/** Of ASCII there is nothing to encode. */
const encodingOf = (text: string, bytes: number) => (bytes === text.length ? "latin1" : "utf8");

function openWriter(
  reply: FastifyReply,
  more: Record<string, string>,
  keepAliveMs: number,
  signal: CallSignal,
): EventWriter {
  // Fastify only knows whole bodies and streams. What plugins put on the reply,
  // CORS for one, goes along.
  reply.hijack();
  const raw = reply.raw;
  // HTTP/2's response tells neither of the two.
  let left = signal.aborted;
  let full = false;
  raw.on("error", () => {});
  // Into its copy: headers spread into one more object go through the runtime of V8.
  const headers = Object.assign(reply.getHeaders(), streamHeaders, more);
  raw.writeHead(200, headers as OutgoingHttpHeaders);
  // Node hands a chunk to the socket in four pieces; framed here it is one.
  const chunked = raw.chunkedEncoding === true;
  if (chunked) raw.chunkedEncoding = false;
  const framed = (text: string, bytes: number) =>
    chunked ? `${bytes.toString(16)}\r\n${text}\r\n` : text;
  // HTTP/2 writes at the end of a turn by itself.
  const socket = reply.request.raw.httpVersionMajor === 1 ? raw.socket : undefined;
  const silence = setTimeout(() => {
    if (!left && !full) full = !raw.write(framed(keepAlive, keepAlive.length));
    silence.refresh();
  }, keepAliveMs);
  raw.on("drain", () => {
    full = false;
  });
  raw.once("close", () => {
    left = true;
    clearTimeout(silence);
  });
  let held = false;
  let last: string | undefined;
  const hold = () => {
    if (held) return;
    held = true;
    socket?.cork();
    writeAtTurnsEnd(release);
  };
  const release = () => {
    held = false;
    if (last === undefined) {
      socket?.uncork();
    } else if (!left) {
      const bytes = Buffer.byteLength(last);
      // Uncorks as well.
      raw.end(framed(last, bytes) + (chunked ? lastChunk : ""), encodingOf(last, bytes));
    }
  };
  return {
    flushHead: () => raw.flushHeaders(),
    write(events) {
      if (events === "" || left) return undefined;
      silence.refresh();
      hold();
      const bytes = Buffer.byteLength(events);
      full = !raw.write(framed(events, bytes), encodingOf(events, bytes));
      if (!full) return undefined;
      return new Promise<void>((resolve) => {
        const go = () => {
          raw.off("drain", go);
          raw.off("close", go);
          resolve();
        };
        raw.on("drain", go);
        raw.on("close", go);
      });
    },
    end(events) {
      clearTimeout(silence);
      last = events;
      hold();
    },
  };
}
