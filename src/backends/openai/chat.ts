/** Runs completions on one server. */
import type { LLMRequest, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { chatDefaults } from "../../core/defaults.js";
import { LintelError } from "../../core/errors.js";
import { once } from "../../core/iterate.js";
import { traceHeaders } from "../../core/telemetry.js";
import type { Answer } from "../http/exchange.js";
import { failureOf, messageOf, retryAfterOf } from "../http/failure.js";
import type { Request, Transport } from "../http/transport.js";
import type { Address } from "./address.js";
import { readCompletion } from "./completion.js";
import { EventSplitter } from "./events.js";
import type { Models } from "./models.js";
import { refusedField } from "./refusal.js";
import { type Optional, optionalFields, writeRequest } from "./request.js";
import { asStream, CompletionStream } from "./stream.js";

/** Most bytes of a whole answer. */
const answerLimit = 32 * 1024 * 1024;
/** Most bytes that are read of an answer that reports an error. */
const errorLimit = 1024 * 1024;

/** What a completion needs. */
export interface Server {
  readonly transport: Transport;
  readonly address: Address;
  readonly models: Models;
  /** Most tokens of one completion. */
  readonly cap?: number | undefined;
}

type ChatCall = Call<"chat"> | Call<"complete">;

/** Streams a completion: a step for each read that brought text. */
export function chat(server: Server, call: Call<"chat">): AsyncIterable<Batch> {
  return { [Symbol.asyncIterator]: () => new Reading(call, () => ask(server, call, true)) };
}

type Batch = readonly LLMResponse[];
type Step = IteratorResult<Batch>;

/** A completion that is read. Makes one promise for each step, for streams have many. */
class Reading implements AsyncIterator<Batch> {
  readonly #call: Call<"chat">;
  readonly #ask: () => Promise<Answer>;
  readonly #splitter = new EventSplitter();
  readonly #stream = new CompletionStream();
  #answer: Answer | undefined;
  #over = false;
  /** Thrown by the next step: what came in the same read as an error was delivered before it. */
  #failure: { readonly thrown: unknown } | undefined;

  constructor(call: Call<"chat">, ask: () => Promise<Answer>) {
    this.#call = call;
    this.#ask = ask;
  }

  next(): Promise<Step> {
    if (this.#failure) return Promise.reject(this.#end(this.#failure.thrown));
    if (this.#over) return Promise.resolve({ done: true, value: undefined });
    return this.#answer ? this.#answer.read().then(this.#came, this.#broke) : this.#open();
  }

  async return(): Promise<Step> {
    this.#end();
    return { done: true, value: undefined };
  }

  async #open(): Promise<Step> {
    const answer = await this.#ask();
    if (this.#over) {
      answer.abort();
      return { done: true, value: undefined };
    }
    if (!/\bjson\b/i.test(String(answer.headers["content-type"]))) {
      this.#answer = answer;
      return this.next();
    }
    this.#over = true;
    return { done: false, value: asStream(readCompletion(await answer.text(answerLimit))) };
  }

  /** @param bytes `undefined`: the answer is at its end */
  readonly #came = (bytes: readonly Buffer[] | undefined): Step | Promise<Step> => {
    const messages: LLMResponse[] = [];
    try {
      const events = bytes ? this.#splitter.push(...bytes) : this.#splitter.end();
      for (const event of events) this.#stream.push(event, messages);
      if (!bytes) this.#stream.finish(messages);
    } catch (thrown) {
      if (messages.length === 0) throw this.#end(thrown);
      this.#failure = { thrown };
    }
    if (this.#stream.done) {
      this.#answer?.drain();
      this.#over = true;
    }
    return messages.length > 0 ? { done: false, value: messages } : this.next();
  };

  /** A server that said why it ended has said all: some leave `[DONE]` out, or hang then. */
  readonly #broke = (thrown: unknown): Step | Promise<Step> => {
    const said = this.#stream.finished && !this.#call.signal.aborted;
    if (said && thrown instanceof LintelError && endings.has(thrown.code)) {
      return this.#came(undefined);
    }
    throw this.#end(thrown);
  };

  #end<T>(thrown?: T): T | undefined {
    this.#over = true;
    this.#failure = undefined;
    this.#answer?.abort();
    return thrown;
  }
}

const endings: ReadonlySet<string> = new Set(["timeout", "upstream_failed"]);

/** Runs a completion to its end. */
export function complete(
  server: Server,
  call: Call<"complete">,
): AsyncIterable<readonly LLMResponse[]> {
  return once(async () => {
    const answer = await ask(server, call, false);
    return [readCompletion(await answer.text(answerLimit))];
  });
}

/**
 * Sends the request; where the server refuses an optional field, sends it again
 * without, and remembers once that has worked.
 */
async function ask(server: Server, call: ChatCall, stream: boolean): Promise<Answer> {
  const { address, models, cap } = server;
  const { request, signal, connectMs } = call;
  const path = address.at("/chat/completions");
  const own = traceHeaders(call);
  const learned: Optional[] = [];
  for (;;) {
    const known = models.refusedFor(request.model);
    const refused = learned.length === 0 ? known : new Set([...known, ...learned]);
    const body = writeRequest(request, { dialect: models.dialect, stream, refused, cap });
    const answer = await send(server, {
      method: "POST",
      path,
      body,
      headers: own,
      signal,
      connect: connectMs,
    });
    const { status, headers } = answer;
    if (status >= 200 && status < 300) {
      for (const field of learned) {
        models.refuse(request.model, field);
        warnDropped(call, field);
      }
      return answer;
    }
    const text = await answer.text(errorLimit);
    const field = refusedField(status, text, optionalFields);
    if (field && !refused.has(field)) {
      learned.push(field);
      continue;
    }
    call.log.warn({ id: call.id, status, said: messageOf(text) }, "the model server refused");
    throw failureOf(status, text, retryAfterOf(headers["retry-after"], Date.now()));
  }
}

/** Sends a request. A server that can't be reached is asked for its models soon. */
export async function send({ transport, models }: Server, request: Request): Promise<Answer> {
  try {
    return await transport.send(request);
  } catch (thrown) {
    if (thrown instanceof LintelError && thrown.code === "upstream_unreachable") models.doubt();
    throw thrown;
  }
}

/** A value that a caller set and that did not count; later calls are warned by the core. */
function warnDropped({ request, warnings }: ChatCall, field: Optional): void {
  if (field !== "temperature" && field !== "top_p" && field !== "top_k") return;
  const key = ({ temperature: "temperature", top_p: "topP", top_k: "topK" } as const)[field];
  const value: LLMRequest[typeof key] = request[key];
  if (value === undefined || value === chatDefaults[key]) return;
  warnings.push(`${field}: not supported by this model, ignored`);
}
