/** A streamed completion as it is read, of every server that answers in OpenAI's form. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { LintelError } from "../../core/errors.js";
import { iterable } from "../../core/iterate.js";
import { isObject, parseJson } from "../../core/json.js";
import { Steps, type Waiter } from "../../core/steps.js";
import type { Answer, Reader } from "../http/answer.js";
import { isStream, isWhole } from "../http/ask.js";
import { nonsense } from "../http/failure.js";
import type { Refused } from "../http/refused.js";
import type { MarkedThoughts } from "../marked-thoughts.js";
import { EventSplitter, type ServerEvent } from "./events.js";
import { startLimit } from "./events-in.js";
import { beginningOf } from "./form.js";
import { asStream, CompletionStream } from "./stream.js";

/** Most bytes of a whole answer. */
export const answerLimit = 32 * 1024 * 1024;

/** What servers differ in. */
export interface Dialogue {
  /** Sends the request. */
  ask(call: Call<"chat">): Promise<Answer>;
  /**
   * Sends it without what it was refused for at the beginning of a stream; absent: that is a failure.
   * @throws LintelError the refusal's, where it names nothing that the request can go without
   */
  again?(call: Call<"chat">, refused: Refused): Promise<Answer>;
  /** Reads the answer of a server that did not stream it. */
  whole(text: string, call: Call<"chat">): LLMResponse;
  /** What finds thoughts in the text of an answer; absent: all text is said. */
  tagged?(call: Call<"chat">): MarkedThoughts | undefined;
  /** Reads an event, as a rule by `stream.push`. */
  take(event: ServerEvent, stream: CompletionStream, out: LLMResponse[], call: Call<"chat">): void;
}

type Batch = readonly LLMResponse[];
type Step = IteratorResult<Batch>;

/**
 * The messages of a completion: a step for each read that brought text. The request is
 * sent when the first step is asked for.
 */
export const reading = (call: Call<"chat">, dialogue: Dialogue): AsyncIterable<Batch> =>
  iterable(() => new Reading(call, dialogue));

class Reading extends Steps<Batch> implements Reader {
  readonly #call: Call<"chat">;
  readonly #dialogue: Dialogue;
  #splitter = new EventSplitter();
  #stream: CompletionStream;
  #answer: Answer | undefined;
  #by: Waiter<Step> | undefined;
  #over = false;
  /** How an answer begins that is not said to be a stream, until an event was read of it. */
  #start: string | undefined;
  /** Whether an event was read, and how often the first one was an error. */
  #heard = false;
  #refusals = 0;
  /** Thrown by the next step: what came in the same read as an error was delivered before it. */
  #failure: { readonly thrown: unknown } | undefined;

  constructor(call: Call<"chat">, dialogue: Dialogue) {
    super();
    this.#call = call;
    this.#dialogue = dialogue;
    this.#stream = new CompletionStream(dialogue.tagged?.(call));
  }

  ask(by: Waiter<Step>): void {
    this.#by = by;
    if (this.#failure) by.failed(this.#end(this.#failure.thrown));
    else if (this.#over) by.came({ done: true, value: undefined });
    else if (this.#answer) this.#answer.readTo(this);
    else void this.#open(by);
  }

  async return(): Promise<Step> {
    this.#end();
    return { done: true, value: undefined };
  }

  async #open(by: Waiter<Step>, refused?: Refused): Promise<void> {
    try {
      const { ask, again } = this.#dialogue;
      const answer = await (refused && again ? again(this.#call, refused) : ask(this.#call));
      if (this.#over) {
        answer.abort();
        by.came({ done: true, value: undefined });
        return;
      }
      this.#answer = answer;
      if (isStream(answer)) {
        answer.readTo(this);
        return;
      }
      const read = async () => {
        const parts = await answer.read();
        return parts && Buffer.concat(parts);
      };
      const { bytes, whole } = await beginningOf(answer.headers, read);
      const all = whole ? Buffer.concat([bytes, await answer.bytes(answerLimit)]) : bytes;
      const text = whole ? all.toString("utf8") : "";
      if (whole && (isWhole(answer) || parseJson(text) !== undefined)) {
        const messages = asStream(this.#dialogue.whole(text, this.#call));
        this.#over = true;
        by.came({ done: false, value: messages });
        return;
      }
      this.#start = "";
      this.came(all.length > 0 ? [all] : undefined);
    } catch (thrown) {
      by.failed(this.#end(thrown));
    }
  }

  /** Passes on what bytes say; where that is nothing, it reads on. */
  came(bytes: readonly Buffer[] | undefined): void {
    let step: Step | undefined;
    try {
      step = this.#stepOf(bytes);
    } catch (thrown) {
      if (this.#by && thrown instanceof AtOnce) void this.#openAgain(this.#by, thrown);
      else this.#by?.failed(thrown);
      return;
    }
    if (step) this.#by?.came(step);
    else this.#answer?.readTo(this);
  }

  /** A server that said why it ended has said all: some leave `[DONE]` out, or hang then. */
  failed(reason: unknown): void {
    const said = this.#stream.finished && !this.#call.signal.aborted;
    if (said && reason instanceof LintelError && endings.has(reason.code)) this.came(undefined);
    else this.#by?.failed(this.#end(reason));
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
      this.#failure = { thrown: thrown instanceof AtOnce ? thrown.cause : thrown };
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
      this.#dialogue.take(event, this.#stream, messages, this.#call);
      this.#heard = true;
    } catch (thrown) {
      const isFirst = !this.#heard && this.#refusals < mostRefusals && this.#dialogue.again;
      if (isFirst && thrown instanceof LintelError) throw new AtOnce(event.data, thrown);
      if (!last || !this.#stream.finished) throw thrown;
    }
  }

  /** Some servers refuse a request in a stream, with a status that says nothing of it: LM Studio, LocalAI. */
  #openAgain(by: Waiter<Step>, { body, cause }: AtOnce): Promise<void> {
    this.#refusals++;
    this.#over = false;
    this.#answer = undefined;
    this.#splitter = new EventSplitter();
    this.#stream = new CompletionStream(this.#dialogue.tagged?.(this.#call));
    return this.#open(by, { status: statusIn(body), body, failure: () => cause });
  }

  #end<T>(thrown?: T): T | undefined {
    this.#over = true;
    this.#failure = undefined;
    this.#answer?.abort();
    return thrown;
  }
}

/** Requests that may be refused so. */
const mostRefusals = 4;

/** The first event of a stream is an error. */
class AtOnce extends Error {
  override readonly cause: LintelError;
  readonly body: string;

  constructor(body: string, cause: LintelError) {
    super(cause.message, { cause });
    this.cause = cause;
    this.body = body;
  }
}

/** The status that an error has besides; as a rule it says none. */
function statusIn(body: string): number {
  const value = parseJson(body);
  const error = isObject(value) && isObject(value.error) ? value.error : undefined;
  const status = [error?.code, error?.status].find((it) => typeof it === "number");
  return typeof status === "number" ? status : 400;
}

const endings: ReadonlySet<string> = new Set(["timeout", "upstream_failed"]);
