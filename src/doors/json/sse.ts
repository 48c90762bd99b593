/** Streams as Server-Sent Events. */

import type { FastifyReply } from "fastify";
import type { CallSignal } from "../../core/cancellation.js";
import { type LintelError, toLintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import type { MethodName, Output } from "../../core/methods.js";
import { Delivery } from "../delivery.js";
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
  /** Whether a failure ahead of the first message is told likewise, and not by its status. Default: none is. */
  isToldInStream?(error: LintelError): boolean;
  /** What stands between a complete answer and the stream's end. */
  end(): string;
  /** Whether the stream ends without `[DONE]`. */
  readonly plainEnd?: boolean;
  /**
   * What is sent in silence, ASCII, for clients that take a comment for something else, or for nothing; asked for each
   * time. Default: a comment.
   */
  readonly keepAlive?: string | undefined;
}

/** One event with an object that is JSON text already. */
export const event = (json: string): string => `data: ${json}\n\n`;

/** One event that says its type twice, as OpenAI's newer streams and Anthropic's have it. @param members of its object besides, JSON text */
export const typedEvent = (type: string, members = ""): string =>
  `event: ${type}\ndata: {"type":"${type}"${members === "" ? "" : `,${members}`}}\n\n`;

const done = event("[DONE]");

/**
 * Sends a call's messages as events, then `[DONE]`, unless the encoder knows none. The status waits for the
 * first messages, at most `holdMs`: a failure until then is sent as a whole
 * response, unless the encoder has it in the stream. A client that reads slowly stops the iteration; one that left does
 * not, since the call hears of it by its signal and has to come to its end.
 * @param signal aborted when the client left
 * @param notes warnings of the door itself
 */
export function sendEvents<M extends MethodName>(
  reply: FastifyReply,
  running: Running<M>,
  encoder: EventEncoder<M>,
  settings: DoorSettings,
  signal: CallSignal,
  notes: readonly string[] = [],
): void {
  new Sending(reply, running, encoder, settings, signal, notes).start();
}

/** One stream on its way to its client. */
class Sending<M extends MethodName> extends Delivery<readonly Output<M>[]> {
  readonly #reply: FastifyReply;
  readonly #running: Running<M>;
  readonly #encoder: EventEncoder<M>;
  readonly #settings: DoorSettings;
  readonly #signal: CallSignal;
  readonly #notes: readonly string[];
  #hold: NodeJS.Timeout | undefined;
  #writer: EventWriter | undefined;

  constructor(...given: Required<Parameters<typeof sendEvents<M>>>) {
    super(given[1].messages);
    [this.#reply, this.#running, this.#encoder, this.#settings, this.#signal, this.#notes] = given;
    this.#hold = setTimeout(() => this.#open().flushHead(), this.#settings.holdMs);
  }

  protected take(step: IteratorResult<readonly Output<M>[]>): Promise<void> | undefined {
    const writer = this.#open();
    if (step.done) {
      writer.end(this.#encoder.end() + this.#done);
      return undefined;
    }
    this.#encoder.messages(step.value, writer);
    return writer.full();
  }

  failed(thrown: unknown): void {
    const error = toLintelError(thrown);
    if (this.#writer || this.#encoder.isToldInStream?.(error)) {
      this.#open().end(this.#encoder.failure(error) + this.#done);
      return;
    }
    this.#heard();
    sendError(this.#reply, error, this.#running, this.#notes);
  }

  get #done(): string {
    return this.#encoder.plainEnd ? "" : done;
  }

  #heard(): void {
    clearTimeout(this.#hold);
    this.#hold = undefined;
  }

  /** Made with the first messages, or when they have been waited for long enough. */
  #open(): EventWriter {
    if (!this.#writer) {
      this.#heard();
      const headers = headersOf(this.#running, this.#notes);
      const { keepAliveMs } = this.#settings;
      const encoder = this.#encoder;
      this.#writer = new EventWriter(this.#reply, headers, keepAliveMs, this.#signal, encoder);
    }
    return this.#writer;
  }
}
