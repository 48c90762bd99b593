/** One `txt2img` request, from before it is sent until the server has let go of it. */

import { atMost, unlessAborted } from "../../core/abort.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import { askJson } from "../http/ask.js";
import { imageLimit } from "../http/image.js";
import type { Site } from "../image-server.js";
import type { Sight, Watch } from "./watch.js";

/** What a run needs. */
export interface RunOptions {
  readonly site: Site;
  readonly watch: Watch;
  readonly body: string;
  /** Sent with the request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Longest time to connect, milliseconds, where it is the call's own. */
  readonly connect?: number | undefined;
  readonly images: number;
  /** Milliseconds between two looks. */
  readonly poll: number;
  readonly previews: boolean;
  /** Called when it is answered, or has failed, whether or not anybody looks. */
  over?(): void;
}

/** How long we wait until ours is interrupted, or done, milliseconds: others' work may be before it. */
const patience = 300_000;

/** Most bytes of an answer with so many images: base64, and what is said of them. */
const answerLimit = (images: number) => images * Math.ceil(imageLimit / 3) * 4 + 4 * 1024 * 1024;

/** A request on its way. */
export class Run {
  readonly #options: RunOptions;
  readonly #request = new AbortController();
  #answer: Promise<unknown> | undefined;
  #settled = Promise.resolve();
  #over = true;
  #stopped: Promise<void> | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  /**
   * Sends the request; gives what is seen of it, and ends when it is answered.
   * @throws the signal's reason; then `stop` ends what runs on
   */
  async *sights(signal: CallSignal): AsyncGenerator<Sight> {
    const { watch, poll, previews, connect } = this.#options;
    await unlessAborted(watch.before(signal, connect), signal);
    this.#send();
    while (!(await unlessAborted(this.#overWithin(poll), signal))) {
      const sight = await unlessAborted(watch.look(previews, signal), signal);
      if (sight && !this.#over) yield sight;
    }
  }

  /** The answer. @throws LintelError as the server can't be reached, or fails */
  async answer(): Promise<unknown> {
    return this.#answer;
  }

  /**
   * Nobody waits for the answer any more: what runs for it is interrupted, and
   * what waits is as soon as it runs. Resolves when the server is done with it.
   * Never throws.
   * @param closing aborts the waiting
   */
  stop(closing: CallSignal): Promise<void> {
    this.#stopped ??= this.#stop(closing).catch(() => {});
    return this.#stopped;
  }

  #send(): void {
    const { site, body, headers, connect, images } = this.#options;
    const { signal } = this.#request;
    const path = site.at("/sdapi/v1/txt2img");
    // As long as the call: the first byte comes with the last image.
    const sent = { method: "POST", path, body, headers, signal } as const;
    const request = { ...sent, connect, timeout: 0 };
    const answer = askJson(site.transport, request, answerLimit(images));
    this.#over = false;
    this.#answer = answer;
    this.#settled = answer
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        this.#over = true;
        this.#options.over?.();
      });
  }

  async #stop(closing: CallSignal): Promise<void> {
    const { poll } = this.#options;
    const limit = AbortSignal.timeout(patience);
    try {
      while (!this.#over && (await this.#interrupt(limit)) && !closing.aborted) {
        await this.#overWithin(poll);
      }
      if (!closing.aborted) await this.#end(closing, limit);
    } finally {
      this.#request.abort(new LintelError("cancelled", "nobody waits for the image any more"));
    }
  }

  /** Whether it is worth trying again, as it is where the server is too busy to answer: it may load a checkpoint. */
  async #interrupt(limit: CallSignal): Promise<boolean> {
    try {
      return await this.#options.watch.interrupt(limit);
    } catch (thrown) {
      if (thrown instanceof LintelError && thrown.code === "timeout") return true;
      throw thrown;
    }
  }

  /** Waits for the answer to what was interrupted, if an interrupt is understood at all. */
  async #end(closing: CallSignal, limit: CallSignal): Promise<void> {
    if (!this.#options.watch.interrupts) return;
    await unlessAborted(unlessAborted(this.#settled, limit), closing);
  }

  /** Whether it is over, at the latest after some milliseconds. */
  async #overWithin(ms: number): Promise<boolean> {
    await atMost(ms, this.#settled);
    return this.#over;
  }
}
