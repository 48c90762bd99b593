/**
 * Follows one image on a server whose progress is that of whatever it is doing
 * just now, for whomever: only what is certainly ours is told and interrupted.
 */
import type { CallSignal } from "../../core/cancellation.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { ask, askJson } from "../http/ask.js";
import { string } from "../http/json.js";
import type { Request } from "../http/transport.js";
import type { Site } from "../image-server.js";
import type { Dialect } from "./dialect.js";

/** What is seen of our image. */
export type Sight =
  /** It waits on the server; so many are before it. */
  | { readonly ahead: number }
  /** It is being made: how much is done, 0 to 1, and how it looks, in base64. */
  | {
      readonly fraction: number;
      readonly preview: string | undefined;
      /** Somebody told the server to stop or to skip it: what it answers is half an image. */
      readonly interrupted: boolean;
    };

/** Whether the server works on ours. */
type Standing = "running" | "waiting" | "unknown";

/** What a server says that it is doing. */
interface State {
  readonly busy: boolean;
  /** The same as long as it is the same work. */
  readonly job: string;
  readonly fraction: number;
  readonly preview: string | undefined;
  readonly interrupted: boolean;
}

/** Longest time for an answer, milliseconds: a busy server is slow, and the next look comes anyway. */
const lookTimeout = 5000;

/**
 * Looks in a row after which the server is held for one that does not take the
 * ids of tasks, as older AUTOMATIC1111; at first it has not read ours yet.
 */
const mostMisses = 3;

/** Eyes and hands for one request. */
export class Watch {
  readonly #site: Site;
  readonly #dialect: Dialect;
  #task: string | undefined;
  /** Looks in a row at which the server did not know our task. */
  #misses = 0;
  /** Nothing else was running when we asked: what runs since then is ours. */
  #alone = false;
  #job: string | undefined;

  /** @param task the id of our task, where the server tells which is running */
  constructor(site: Site, dialect: Dialect, task: string | undefined) {
    this.#site = site;
    this.#dialect = dialect;
    this.#task = task;
  }

  /** Whether the server can be told to stop at all. */
  get interrupts(): boolean {
    return this.#dialect.progress;
  }

  /**
   * To be called just before the request is sent. Never throws.
   * @param connect longest time to connect, milliseconds, where it is the call's own
   */
  async before(signal: CallSignal, connect?: number): Promise<void> {
    if (!this.#dialect.progress) return;
    const state = await this.#state(false, signal, connect).catch(() => undefined);
    this.#alone = state !== undefined && !state.busy;
  }

  /** What is seen now; `undefined` if nothing is known of ours. Never throws. */
  async look(previews: boolean, signal: CallSignal): Promise<Sight | undefined> {
    try {
      const standing = await this.#standing(signal);
      if (standing === "waiting") return await this.#queue(signal);
      if (standing === "unknown") return undefined;
      const state = await this.#state(previews, signal);
      return this.#isOurs(state) ? state : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Interrupts ours if it is running.
   * @returns whether it is worth trying again: ours is still to come
   * @throws LintelError as the server can't be asked
   */
  async interrupt(signal: CallSignal): Promise<boolean> {
    const standing = await this.#standing(signal);
    if (standing !== "running") return standing === "waiting";
    if (!this.#task && !this.#isOurs(await this.#state(false, signal))) return false;
    const path = this.#site.at("/sdapi/v1/interrupt");
    await ask(this.#site.transport, { method: "POST", path, signal, timeout: lookTimeout });
    return false;
  }

  async #standing(signal: CallSignal): Promise<Standing> {
    if (!this.#dialect.progress) return "unknown";
    if (!this.#task) return this.#alone ? "running" : "unknown";
    const body = JSON.stringify({ id_task: this.#task, live_preview: false });
    const task = await this.#ask("POST", "/internal/progress", signal, { body });
    const { active, queued, completed } = task;
    if (!active && !queued && !completed && ++this.#misses >= mostMisses) this.#task = undefined;
    if (active || queued) this.#misses = 0;
    if (active) return "running";
    return completed ? "unknown" : "waiting";
  }

  async #queue(signal: CallSignal): Promise<Sight | undefined> {
    const { tasks } = await this.#ask("GET", "/internal/pending-tasks", signal);
    const place = Array.isArray(tasks) ? tasks.indexOf(this.#task) : -1;
    // Besides those that wait, one is being worked on.
    return place < 0 ? undefined : { ahead: place + 1 };
  }

  /** Without tasks: whether it is still the work that began after we asked. */
  #isOurs({ busy, job }: State): boolean {
    if (!busy) return false;
    if (this.#task || !this.#dialect.tasks) return true;
    this.#job ??= job;
    if (this.#job !== job) this.#alone = false;
    return this.#alone;
  }

  async #state(previews: boolean, signal: CallSignal, connect?: number): Promise<State> {
    const path = `/sdapi/v1/progress?skip_current_image=${!previews}`;
    return readState(await this.#ask("GET", path, signal, { connect }));
  }

  async #ask(
    method: "GET" | "POST",
    path: string,
    signal: CallSignal,
    more: Pick<Request, "body" | "connect"> = {},
  ): Promise<JsonObject> {
    const { transport, at } = this.#site;
    const request = { method, path: at(path), signal, timeout: lookTimeout, ...more };
    const value = await askJson(transport, request);
    return isObject(value) ? value : {};
  }
}

function readState({ state, current_image: preview }: JsonObject): State {
  const known = isObject(state) ? state : {};
  const count = number(known.job_count);
  const steps = number(known.sampling_steps);
  const step = steps > 0 ? Math.min(1, number(known.sampling_step) / steps) : 0;
  // The number of jobs is -1 until it is known; highres fix makes two jobs of one image.
  const done = count > 0 ? (number(known.job_no) + step) / count : 0;
  return {
    busy: string(known.job) !== "" || count !== 0,
    job: string(known.job_timestamp),
    fraction: Math.min(1, Math.max(0, done)),
    preview: typeof preview === "string" && preview !== "" ? preview : undefined,
    interrupted: known.interrupted === true || known.skipped === true,
  };
}

const number = (value: unknown): number => (typeof value === "number" ? value : 0);
