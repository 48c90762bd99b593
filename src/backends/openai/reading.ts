/** A streamed completion as it is read, of every server that answers in OpenAI's form. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import { iterable } from "../../core/iterate.js";
import { isWhole } from "../http/ask.js";
import type { Answer } from "../http/exchange.js";
import { EventSplitter, type ServerEvent } from "./events.js";
import { asStream, CompletionStream } from "./stream.js";

/** Most bytes of a whole answer. */
export const answerLimit = 32 * 1024 * 1024;

/** What servers differ in. */
export interface Dialogue {
  /** Sends the request. */
  ask(): Promise<Answer>;
  /** Reads the answer of a server that did not stream it. */
  whole(text: string): LLMResponse;
  /** Reads an event, as a rule by `stream.push`. */
  take(event: ServerEvent, stream: CompletionStream, out: LLMResponse[]): void;
  /** Completes the messages of one step. */
  made?(messages: readonly LLMResponse[]): void;
}

type Batch = readonly LLMResponse[];
type Step = IteratorResult<Batch>;

/**
 * The messages of a completion: a step for each read that brought text. The request is
 * sent when the first step is asked for.
 */
export const reading = (signal: CallSignal, dialogue: Dialogue): AsyncIterable<Batch> =>
  iterable(() => new Reading(signal, dialogue));

/** Makes one promise for each step, for streams have many. */
class Reading implements AsyncIterator<Batch> {
  readonly #signal: CallSignal;
  readonly #dialogue: Dialogue;
  readonly #splitter = new EventSplitter();
  readonly #stream = new CompletionStream();
  #answer: Answer | undefined;
  #over = false;
  /** Thrown by the next step: what came in the same read as an error was delivered before it. */
  #failure: { readonly thrown: unknown } | undefined;

  constructor(signal: CallSignal, dialogue: Dialogue) {
    this.#signal = signal;
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
    if (!isWhole(answer)) {
      this.#answer = answer;
      return this.next();
    }
    this.#over = true;
    return { done: false, value: asStream(this.#dialogue.whole(await answer.text(answerLimit))) };
  }

  /** @param bytes `undefined`: the answer is at its end */
  readonly #came = (bytes: readonly Buffer[] | undefined): Step | Promise<Step> => {
    const messages: LLMResponse[] = [];
    try {
      const events = bytes ? this.#splitter.push(...bytes) : this.#splitter.end();
      for (const event of events) this.#dialogue.take(event, this.#stream, messages);
      // The marker of the end may be left out; a server that said why it ended has said all.
      if (!bytes) this.#stream.finish(messages);
    } catch (thrown) {
      if (messages.length === 0) throw this.#end(thrown);
      this.#failure = { thrown };
    }
    if (this.#stream.done) {
      this.#answer?.drain();
      this.#over = true;
    }
    if (messages.length === 0) return this.next();
    this.#dialogue.made?.(messages);
    return { done: false, value: messages };
  };

  /** A server that said why it ended has said all: some leave `[DONE]` out, or hang then. */
  readonly #broke = (thrown: unknown): Step | Promise<Step> => {
    const said = this.#stream.finished && !this.#signal.aborted;
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
