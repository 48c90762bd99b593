/** Whole answers in JSON. */
import type { FastifyReply } from "fastify";
import { toLintelError } from "../../core/errors.js";
import { noMessage, type Running } from "../../core/gateway.js";
import type { MethodName, Output } from "../../core/methods.js";
import { ask, type Waiter } from "../../core/steps.js";
import { writeAtTurnsEnd } from "../../core/turn.js";
import { sendError } from "./error.js";
import { eachHeader } from "./headers.js";
import { type JsonText, sendParts } from "./parts.js";

/**
 * Sends the one message of a unary call, or its error. The route's handler returns nothing then.
 * @param encode the message as JSON text
 * @param notes warnings of the door itself
 */
export function sendWhole<M extends MethodName>(
  reply: FastifyReply,
  running: Running<M>,
  encode: (message: Output<M>) => JsonText,
  notes: readonly string[] = [],
): void {
  new WholeAnswer(reply, running, encode, notes).begin();
}

/** One on its way: told the steps of its call, so that no promise is made for any. */
class WholeAnswer<M extends MethodName> implements Waiter<IteratorResult<readonly Output<M>[]>> {
  readonly #reply: FastifyReply;
  readonly #running: Running<M>;
  readonly #messages: AsyncIterator<readonly Output<M>[]>;
  readonly #encode: (message: Output<M>) => JsonText;
  readonly #notes: readonly string[];
  #last: Output<M> | undefined;

  constructor(
    reply: FastifyReply,
    running: Running<M>,
    encode: (message: Output<M>) => JsonText,
    notes: readonly string[],
  ) {
    this.#reply = reply;
    this.#running = running;
    this.#messages = running.messages[Symbol.asyncIterator]();
    this.#encode = encode;
    this.#notes = notes;
  }

  begin(): void {
    ask(this.#messages, this);
  }

  came(step: IteratorResult<readonly Output<M>[]>): void {
    if (!step.done) {
      this.#last = step.value.at(-1);
      this.begin();
      return;
    }
    if (this.#last === undefined) {
      this.failed(noMessage());
      return;
    }
    try {
      const text = this.#encode(this.#last);
      writeAtTurnsEnd(() => this.#send(text));
    } catch (thrown) {
      this.#reply.send(thrown);
    }
  }

  failed(reason: unknown): void {
    try {
      sendError(this.#reply, toLintelError(reason), this.#running, this.#notes);
    } catch (thrown) {
      this.#reply.send(thrown);
    }
  }

  #send(text: JsonText): void {
    const reply = this.#reply;
    try {
      eachHeader(this.#running, this.#notes, (name, value) => reply.header(name, value));
      reply.type("application/json; charset=utf-8");
      if (typeof text === "string") reply.send(text);
      else if (text.every((part) => typeof part === "string")) reply.send(text.join(""));
      else void sendParts(reply, text);
    } catch (thrown) {
      reply.send(thrown);
    }
  }
}
