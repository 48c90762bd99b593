/** The models of one server: configured, or read from its list and read again now and then. */
import { isDeepStrictEqual } from "node:util";
import { type Model, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import { LintelError, toLintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import { modelOf } from "../../core/model.js";
import { type Dialect, supportedBy } from "./dialect.js";
import { nonsense } from "./failure.js";
import { isObject, parseJson, string, uint32 } from "./json.js";
import type { Optional } from "./request.js";

/** An entry of a server's list. */
export interface Listed {
  readonly id: string;
  /** Unix seconds; 0 if not said. */
  readonly created: number;
  readonly ownedBy: string;
}

/** What models are called that servers list beside the ones that chat. */
const noChat =
  /embed|rerank|whisper|moderation|dall-e|gpt-image|(?:^|[-/_:])(?:tts|bge|clip)(?:[-_:]|$)/i;

/** Whether a model chats, as far as its name tells. */
export const chats = ({ id }: Listed): boolean => !noChat.test(id);

/**
 * Reads the answer to `GET /models`.
 * @throws LintelError `upstream_failed` if it is not a list of models
 */
export function readModels(text: string): Listed[] {
  const list = parseJson(text);
  const data = isObject(list) ? list.data : undefined;
  // Ollama without a model says `"data": null`.
  if (data === null && isObject(list) && list.object === "list") return [];
  if (!Array.isArray(data)) throw nonsense("answered without a list of models");
  const listed = new Map<string, Listed>();
  for (const entry of data) {
    if (!isObject(entry) || typeof entry.id !== "string" || entry.id === "") {
      throw nonsense("answered with a list of something else than models");
    }
    const { id } = entry;
    listed.set(id, { id, created: uint32(entry.created), ownedBy: string(entry.owned_by) });
  }
  return [...listed.values()];
}

/** Where the models come from. */
export interface ModelSource {
  /** Names in the configuration; absent: the server's list counts. */
  readonly names?: readonly string[] | undefined;
  /** Cap of `max_tokens`; absent: not known. */
  readonly maxTokens?: number | undefined;
  /** Milliseconds between two readings; 0: only one. */
  readonly refresh: number;
  readonly log: Logger;
  /** Asks the server. */
  list(signal: AbortSignal): Promise<Listed[]>;
  /** The dialect, by what the server said of its first model. */
  dialect(ownedBy?: string): Dialect;
}

/** Milliseconds after which a server that did not answer is asked again, at first. */
const firstRetry = 1000;

/** Keeps the list of models. */
export class Models {
  readonly #source: ModelSource;
  readonly #stop = new AbortController();
  readonly #refused = new Map<string, Set<Optional>>();
  #listed: readonly Listed[];
  #failure: LintelError | undefined;
  #models: readonly Model[] = [];
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retry = firstRetry;
  #read = false;

  constructor(source: ModelSource) {
    this.#source = source;
    this.#listed = (source.names ?? []).map((id) => ({ id, created: 0, ownedBy: "" }));
    this.#build();
    if (!source.names) void this.refresh();
  }

  /** The same array as long as nothing changed. */
  list(): readonly Model[] {
    return this.#models;
  }

  /** The dialect to speak. */
  get dialect(): Dialect {
    return this.#source.dialect(this.#listed[0]?.ownedBy || undefined);
  }

  /** What the server has refused for a model. */
  refusedFor(model: string): ReadonlySet<Optional> {
    return this.#refused.get(model) ?? none;
  }

  /** The server has refused a field for a model, and did well without. */
  refuse(model: string, field: Optional): void {
    const refused = this.#refused.get(model) ?? new Set();
    this.#refused.set(model, refused.add(field));
    this.#build();
  }

  /** Waits for the first reading of the list. @throws LintelError as it failed */
  async ready(): Promise<void> {
    if (!this.#read) await this.#reading;
    if (this.#failure) throw this.#failure;
  }

  /** A call could not reach the server: whether it is still there is found out soon. */
  doubt(): void {
    if (!this.#source.names) void this.refresh();
  }

  /** Reads the server's list now. Never throws: `state` of the models says how it went. */
  refresh(): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve();
    this.#reading ??= this.#update().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Stops reading. */
  close(): void {
    clearTimeout(this.#timer);
    this.#stop.abort(new LintelError("shutting_down", "the backend was closed"));
  }

  async #update(): Promise<void> {
    clearTimeout(this.#timer);
    const { refresh, log } = this.#source;
    let next = refresh;
    try {
      const listed = await this.#source.list(this.#stop.signal);
      this.#listed = listed.filter(chats);
      this.#failure = undefined;
      this.#retry = firstRetry;
    } catch (thrown) {
      if (this.#stop.signal.aborted) return;
      const failure = toLintelError(thrown);
      if (!this.#failure) log.warn({ err: failure }, "the list of models can't be read");
      this.#failure = failure;
      next = refresh > 0 ? Math.min(this.#retry, refresh) : 0;
      this.#retry *= 2;
    }
    this.#read = true;
    this.#build();
    if (next > 0 && !this.#stop.signal.aborted) {
      this.#timer = setTimeout(() => void this.refresh(), next).unref();
    }
  }

  #build(): void {
    const { maxTokens = 0 } = this.#source;
    const supported = supportedBy(this.dialect);
    const models = this.#listed.map(({ id, created }) =>
      modelOf(id, Task.CHAT, {
        state: this.#failure ? State.FAILED : State.READY,
        stateDetail: this.#failure?.message ?? "",
        supports: supported.filter((field) => supports(field, this.refusedFor(id))),
        maxTokens,
        created,
      }),
    );
    if (!isDeepStrictEqual(models, this.#models)) this.#models = models;
  }
}

const none: ReadonlySet<Optional> = new Set();

/** A refused `max_tokens` goes by its other name, so it is still supported. */
function supports(field: string, refused: ReadonlySet<string>): boolean {
  return field === "max_tokens" || !refused.has(field);
}
