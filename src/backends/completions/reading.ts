/** A streamed completion as it is read, of every server that answers in OpenAI's form. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { LintelError } from "../../core/errors.js";
import { iterable } from "../../core/iterate.js";
import { parseJson } from "../../core/json.js";
import type { Answer } from "../http/answer.js";
import { isWhole } from "../http/ask.js";
import { nonsense } from "../http/failure.js";
import { EventSplitter, type ServerEvent } from "./events.js";
import { beginningOf } from "./form.js";
import { asStream, CompletionStream } from "./stream.js";

/** Most bytes of a whole answer. */
export const answerLimit = 32 * 1024 * 1024;

/** How much is told of an answer that is no stream, bytes. */
const startLimit = 300;

/** What servers differ in. */
export interface Dialogue {
  /** Sends the request. */
  ask(): Promise<Answer>;
  /** Reads the answer of a server that did not stream it. */
  whole(text: string): LLMResponse;
  /** Reads an event, as a rule by `stream.push`. */
  take(event: ServerEvent, stream: CompletionStream, out: LLMResponse[]): void;
}

type Batch = readonly LLMResponse[];
type Step = IteratorResult<Batch>;

/**
 * The messages of a completion: a step for each read that brought text. The request is
 * sent when the first step is asked for.
 */
export const reading = (call: Call<"chat">, dialogue: Dialogue): AsyncIterable<Batch> =>
  iterable(() => new Reading(call, dialogue));

/** Makes one promise for each step, for streams have many. */
class Reading implements AsyncIterator<Batch> {
  readonly #call: Call<"chat">;
  readonly #dialogue: Dialogue;
  readonly #splitter = new EventSplitter();
  readonly #stream = new CompletionStream();
  #answer: Answer | undefined;
  #over = false;
  /** How an answer begins that is not said to be a stream, until an event was read of it. */
  #start: string | undefined;
  /** Thrown by the next step: what came in the same read as an error was delivered before it. */
  #failure: { readonly thrown: unknown } | undefined;

  constructor(call: Call<"chat">, dialogue: Dialogue) {
    this.#call = call;
    this.#dialogue = dialogue;
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
    const answer = await this.#dialogue.ask();
    if (this.#over) {
      answer.abort();
      return { done: true, value: undefined };
    }
    this.#answer = answer;
    if (isStream(answer)) return this.next();
    try {
      const read = async () => {
        const parts = await answer.read();
        return parts && Buffer.concat(parts);
      };
      const { bytes, whole } = await beginningOf(answer.headers, read);
      const all = whole ? Buffer.concat([bytes, await answer.bytes(answerLimit)]) : bytes;
      const text = whole ? all.toString("utf8") : "";
      if (whole && (isWhole(answer) || parseJson(text) !== undefined)) {
        this.#over = true;
        return { done: false, value: asStream(this.#dialogue.whole(text)) };
      }
      this.#start = "";
      return this.#came(all.length > 0 ? [all] : undefined);
    } catch (thrown) {
      throw this.#end(thrown);
    }
  }

  readonly #came = (bytes: readonly Buffer[] | undefined): Step | Promise<Step> =>
    this.#stepOf(bytes) ?? this.#further();

  /** Reads on until something is said: one promise in another for each read would be as many as a model has thoughts. */
  async #further(): Promise<Step> {
    for (;;) {
      let bytes: readonly Buffer[] | undefined;
      try {
        bytes = await (this.#answer as Answer).read();
      } catch (thrown) {
        return this.#broke(thrown);
      }
      const step = this.#stepOf(bytes);
      if (step) return step;
    }
  }

  /**
   * @param bytes `undefined`: the answer is at its end
   * @returns `undefined` where nothing was said
   */
  #stepOf(bytes: readonly Buffer[] | undefined): Step | undefined {
    const messages: LLMResponse[] = [];
    let events: readonly ServerEvent[] = [];
    try {
      events = bytes ? this.#splitter.push(...bytes) : this.#splitter.end();
      if (events.length > 0) this.#start = undefined;
      else if (this.#start === "") this.#start = bytes?.[0]?.toString("utf8", 0, startLimit);
      for (const event of events) this.#take(event, messages, bytes === undefined);
      // The marker of the end may be left out; a server that said why it ended has said all.
      if (!bytes) {
        if (this.#start) throw nonsense("answered with no stream", new Error(this.#start));
        this.#stream.finish(messages);
      }
    } catch (thrown) {
      if (messages.length === 0) throw this.#end(thrown);
      this.#failure = { thrown };
    }
    if (this.#stream.done) {
      this.#answer?.drain();
      this.#over = true;
    }
    if (messages.length === 0) {
      if (events.length > 0) this.#call.alive?.();
      return this.#over ? { done: true, value: undefined } : undefined;
    }
    return { done: false, value: messages };
  }

  /** @param last it came to no end of its own: once the server said why it ended, half an event is none */
  #take(event: ServerEvent, messages: LLMResponse[], last: boolean): void {
    try {
      this.#dialogue.take(event, this.#stream, messages);
    } catch (thrown) {
      if (!last || !this.#stream.finished) throw thrown;
    }
  }

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

const isStream = ({ headers }: Answer) => /event-stream/i.test(String(headers["content-type"]));

const endings: ReadonlySet<string> = new Set(["timeout", "upstream_failed"]);
