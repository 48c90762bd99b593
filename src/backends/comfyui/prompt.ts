/** One prompt in ComfyUI, from its queue to the picture. */

import { randomUUID } from "node:crypto";
import { timeLimit, unlessAborted } from "../../core/abort.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { ask } from "../http/ask.js";
import { failureOf, nonsense } from "../http/failure.js";
import { asPng, imageLimit } from "../http/image.js";
import { string } from "../http/json.js";
import type { LargeAnswer } from "../http/large.js";
import { errorBodyOf } from "../http/refused.js";
import type { Site } from "../image-server.js";
import { executionFailure, interrupted, lost, refusalOf } from "./failure.js";
import { imageIn } from "./history.js";
import { answerTimeout, outputsOf, queueOf, takeBack } from "./queue.js";
import type { InputMap } from "./schema.js";
import type { Socket } from "./socket.js";
import { samplersOf, savedAnew, type Workflow } from "./workflow.js";

/** What is seen of a prompt. */
export type Sight =
  /** It waits in the queue; so many are before it. */
  | { readonly ahead: number }
  /** How much of the sampling is done, 0 to 1. */
  | { readonly fraction: number }
  /** How it looks, as PNG or JPEG. */
  | { readonly preview: Buffer };

/** What a prompt needs. */
export interface PromptOptions {
  readonly site: Site;
  readonly socket: Socket;
  /** The socket's. */
  readonly client: string;
  readonly workflow: Workflow;
  readonly map: InputMap;
  /** Sent with the prompt; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Longest time to connect when it is sent, milliseconds, where it is the call's own. */
  readonly connect?: number | undefined;
  /** Milliseconds between two looks at the queue. */
  readonly poll: number;
}

/** Longest time for an image, milliseconds. */
const imageTimeout = 60_000;
/** How often in a row it may be too late: some nodes let ComfyUI answer nothing while they draw. */
const mostLate = 10;
/** Silence on the websocket after which the history is asked all the same, milliseconds. */
const silence = 30_000;

/** A prompt. */
export class Prompt {
  readonly #options: PromptOptions;
  readonly #samplers: readonly string[];
  #id: string | undefined;
  #submitted: Promise<void> = Promise.resolve();
  #started = false;
  #done: JsonObject | undefined;
  /** Why ComfyUI leaves some of its outputs out, where others can be had. */
  #leftOut: LintelError | undefined;
  /** Answers in a row that did not come in time. */
  #late = 0;
  /** Samplers that told steps, in their order. */
  readonly #stepped: string[] = [];
  #stopped: Promise<void> | undefined;

  constructor(options: PromptOptions) {
    this.#options = options;
    this.#samplers = samplersOf(options.workflow);
  }

  /**
   * Submits it; gives what is seen of it, and ends when it is done.
   * @throws LintelError as it is refused or fails; the signal's reason: then
   *   `stop` ends what runs on
   */
  async *sights(signal: CallSignal): AsyncGenerator<Sight> {
    const { socket, poll } = this.#options;
    // Not with the call's signal: only who knows the answer can take it back.
    this.#submitted = this.#submit();
    await unlessAborted(this.#submitted, signal);
    let quiet = 0;
    /** Nothing more is said of it: until the history has it, it is asked for again and again. */
    let over = false;
    while (!this.#done) {
      const message = await unlessAborted(socket.next(poll), signal);
      quiet = message ? 0 : quiet + poll;
      if (message) this.#late = 0;
      if (!message) {
        if (this.#started && socket.alive && !over && quiet < silence) continue;
        quiet = 0;
        const ahead = await unlessAborted(this.#inTime(this.#look()), signal);
        if (ahead !== undefined) yield { ahead };
      } else if (message.type === "preview") {
        if (this.#started) yield { preview: message.image };
      } else if (message.prompt === this.#id) {
        if (message.type === "failed") throw executionFailure(message.details);
        if (message.type === "interrupted") throw interrupted();
        if (message.type === "finished") {
          over = true;
          await unlessAborted(this.#inTime(this.#readHistory()), signal);
        } else {
          this.#started = true;
          const fraction =
            message.type === "started"
              ? 0
              : this.#fraction(message.node, message.value / message.max);
          if (fraction !== undefined) yield { fraction };
        }
      }
    }
  }

  /** The picture, as PNG. @throws LintelError `upstream_failed` if there is none */
  async image(signal: CallSignal, large: LargeAnswer): Promise<Uint8Array> {
    const { site, map } = this.#options;
    const file = imageIn(this.#done ?? {}, map.output);
    if (!file) throw this.#leftOut ?? nonsense("made no image");
    const query = new URLSearchParams(file);
    const path = site.at(`/view?${query}`);
    const sent = { method: "GET", path, accept: "image/*", signal } as const;
    const request = { ...sent, timeout: imageTimeout };
    let image: Buffer | undefined;
    while (!image) {
      signal.throwIfAborted();
      image = await this.#inTime(ask(site.transport, request, imageLimit, large));
    }
    return asPng(image);
  }

  /** Nobody waits for it any more: it is taken out of the queue, or interrupted. Never throws. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop().catch(() => {});
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await this.#submitted.catch(() => {});
    const id = this.#id;
    if (this.#done || id === undefined) return;
    this.#late = 0;
    const { site } = this.#options;
    let left: true | undefined;
    while (!left) left = await this.#inTime(takeBack(site, id));
  }

  /** What it answers; `undefined` where that takes too long. @throws LintelError where it does again and again */
  async #inTime<T>(asked: Promise<T>): Promise<T | undefined> {
    try {
      const answer = await asked;
      this.#late = 0;
      return answer;
    } catch (thrown) {
      const late = thrown instanceof LintelError && thrown.code === "timeout";
      if (!late || ++this.#late >= mostLate) throw thrown;
      return undefined;
    }
  }

  async #submit(): Promise<void> {
    const { site, client, workflow, map, headers, connect } = this.#options;
    // Known from now on: without an answer it may have been queued all the same.
    this.#id = randomUUID();
    const prompt = savedAnew(workflow, map.output, this.#id);
    const body = JSON.stringify({ prompt, client_id: client, prompt_id: this.#id });
    const signal = timeLimit(answerTimeout);
    const path = site.at("/prompt");
    const request = { method: "POST", path, body, headers, signal, connect } as const;
    const answer = await site.transport.send({ ...request, timeout: 0 });
    const made = answer.status === 200;
    const text = await (made ? answer.text(imageLimit) : errorBodyOf(answer, signal));
    if (answer.status >= 400 && answer.status < 500) this.#id = undefined;
    if (answer.status === 400) {
      const refusal = refusalOf(text, map);
      if (refusal) throw refusal;
    }
    if (!made) throw failureOf(answer.status, text, answer.headers);
    // Older servers give it an id of their own.
    const id = idOf(text);
    if (id === "") throw nonsense("answered without the id of the prompt");
    this.#id = id;
    this.#leftOut = refusalOf(text, map);
  }

  /** Where it is: reads the history if it is done, and tells how many are before it if it waits. */
  async #look(): Promise<number | undefined> {
    const { running, pending } = await queueOf(this.#options.site);
    const place = pending.find(({ id }) => id === this.#id);
    if (place) return running.length + pending.filter(({ number }) => number < place.number).length;
    if (running.some(({ id }) => id === this.#id)) this.#started = true;
    // It leaves the queue and enters the history at once: it is in neither only if it is forgotten.
    else if (!(await this.#readHistory())) throw lost();
    return undefined;
  }

  /** @returns whether it is done; @throws LintelError as it failed */
  async #readHistory(): Promise<boolean> {
    this.#done = await outputsOf(this.#options.site, this.#id ?? "");
    return this.#done !== undefined;
  }

  /** How much is done once a node is so far: of the samplers, or of whatever tells steps. */
  #fraction(node: string, done: number): number | undefined {
    const all = this.#samplers.length;
    if (all === 0) return Math.min(1, done);
    if (!this.#samplers.includes(node)) return undefined;
    if (!this.#stepped.includes(node)) this.#stepped.push(node);
    return Math.min(1, (Math.min(this.#stepped.indexOf(node), all - 1) + done) / all);
  }
}

/** The id in the answer to a prompt; empty where there is none. */
function idOf(text: string): string {
  const answer = parseJson(text);
  return isObject(answer) ? string(answer.prompt_id) : "";
}
