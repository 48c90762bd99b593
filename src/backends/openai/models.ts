/** The models of one server: configured, or read from its list and read again now and then. */

import { isDeepStrictEqual } from "node:util";
import { type Model, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import { unlessAborted } from "../../core/abort.js";
import { type CallSignal, Cancellation } from "../../core/cancellation.js";
import { toLintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import { modalitiesOf, modelOf, supportedOf } from "../../core/model.js";
import { logprobs } from "../../core/parameters.js";
import { samplingFields } from "../completions/refusals/sampling.js";
import { Listing } from "../http/listing.js";
import { type Dialect, drawing, supportedBy } from "./dialect.js";
import {
  draws,
  type ImageProfile,
  profileOf,
  supportedBy as supportedImages,
} from "./images/profile.js";
import { chats, type Listed, unlisted } from "./listed.js";

/** How long a server that hangs when it is asked what it is goes on as an unknown one, milliseconds. */
const askAgainMs = 60_000;

/** Models of one server that are known: the largest routers list some hundred. */
const most = 10_000;

/** Where the models come from. */
export interface ModelSource {
  /** The backend's name, for the log. */
  readonly backend: string;
  /** Names in the configuration; absent: the server's list counts. */
  readonly names?: readonly string[] | undefined;
  /** Names of those that make images; absent: their names and the server tell. */
  readonly imageNames?: readonly string[] | undefined;
  /** Cap of `max_tokens`; absent: not known. */
  readonly maxTokens?: number | undefined;
  /** Whether the dialect is found out. Default: no. */
  readonly auto?: boolean;
  /** Milliseconds between two readings; 0: only one. */
  readonly refresh: number;
  readonly log: Logger;
  /** Asks the server. */
  list(signal: CallSignal): Promise<Listed[]>;
  /** The dialect, by what the server listed. */
  dialect(listed: readonly Listed[]): Dialect;
}

/** Keeps the list of models. */
export class Models {
  readonly #source: ModelSource;
  readonly #listing: Listing<readonly Listed[]>;
  readonly #refused = new Map<string, Set<string>>();
  #models: readonly Model[] = [];
  /** What the server lists, where names are configured; absent: it has not been asked. */
  #listed: readonly Listed[] | undefined;
  /** How long conversations may be where names are configured, as the list had it that was read for other reasons. */
  #lengths: ReadonlyMap<string, number | undefined> = new Map();
  #dialect: Dialect;
  #asking: Promise<void> | undefined;
  /** After one that took too long; milliseconds since the epoch. */
  #askAgainAt = 0;
  #cut = false;

  constructor(source: ModelSource) {
    this.#source = source;
    this.#listing = new Listing({
      read: async (signal) => this.#served(this.#firstOf(await source.list(signal))),
      changed: () => this.#build(),
      refresh: source.refresh,
      backend: source.backend,
      log: source.log,
    });
    this.#listing.value = this.#served((source.names ?? []).map(unlisted));
    this.#dialect = source.dialect([]);
    this.#build();
    if (!source.names) void this.#listing.refresh();
  }

  /** The same array as long as nothing changed. */
  list(): readonly Model[] {
    return this.#models;
  }

  /** Whether the server's list counts, and was not read yet. */
  get incomplete(): boolean {
    return !this.#source.names && !this.#listing.known;
  }

  /** The dialect to speak. */
  get dialect(): Dialect {
    return this.#dialect;
  }

  /**
   * What an image model takes. Where names are configured nothing was read so far: the list is
   * now, for what it says of the server. One that has none stays unknown.
   * @throws the signal's reason
   */
  async profileFor(model: string, signal: CallSignal): Promise<ImageProfile> {
    const profile = profileOf(model, this.dialect.images);
    const { auto, names } = this.#source;
    const known = profile.server !== "unknown" || this.#listed !== undefined;
    if (known || !auto || !names || performance.now() < this.#askAgainAt) return profile;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    await unlessAborted(this.#asking, signal);
    return profileOf(model, this.dialect.images);
  }

  async #ask(): Promise<void> {
    try {
      this.#listed = await this.#source.list(new Cancellation());
      this.heard(this.#listed);
    } catch (thrown) {
      // Who is away for now is asked again by the next call, who hangs is not by each.
      const { code, retry } = toLintelError(thrown);
      if (retry !== "anywhere") this.#listed = [];
      if (code === "timeout") this.#askAgainAt = performance.now() + askAgainMs;
    }
  }

  /** What the server has refused for a model. */
  refusedFor(model: string): ReadonlySet<string> {
    return this.#refused.get(model) ?? none;
  }

  /** The server has refused a field for a model, and did well without. */
  refuse(model: string, field: string): void {
    const refused = this.#refused.get(model) ?? new Set();
    this.#refused.set(model, refused.add(field));
    this.#build();
  }

  /** The server's list came by while names are configured: it counts for what those are alone. */
  heard(listed: readonly Listed[]): void {
    this.#lengths = new Map(listed.map(({ id, contextLength }) => [id, contextLength]));
    this.#build();
  }

  /** Waits for the first reading of the list. @throws LintelError as it failed */
  ready(): Promise<void> {
    return this.#listing.ready();
  }

  /** A call could not reach the server: whether it is still there is found out soon. */
  doubt(): void {
    if (!this.#source.names) void this.refresh();
  }

  /** Reads the server's list now. Never throws: `state` of the models says how it went. */
  refresh(): Promise<void> {
    return this.#listing.refresh();
  }

  /** Stops reading. */
  close(): void {
    this.#listing.close();
  }

  /** As many as are known; the first time that there are more, the log says so. */
  #firstOf(listed: readonly Listed[]): readonly Listed[] {
    if (listed.length <= most) return listed;
    const said = { backend: this.#source.backend, listed: listed.length, known: most };
    if (!this.#cut)
      this.#source.log.warn(said, "the server lists too many models: the first are known");
    this.#cut = true;
    return listed.slice(0, most);
  }

  /** The models that can be used, with those that are configured and not listed. */
  #served(listed: readonly Listed[]): Listed[] {
    const { names, imageNames = [] } = this.#source;
    const used = listed.filter((entry) => names || this.#draws(entry) || chats(entry));
    const missing = imageNames.filter((name) => !listed.some(({ id }) => id === name));
    return [
      ...used.filter((entry) => entry.draws !== false || this.#draws(entry)),
      ...missing.map(unlisted),
    ];
  }

  #draws({ id, draws: said }: Listed): boolean {
    const { imageNames } = this.#source;
    return imageNames ? imageNames.includes(id) : (said ?? draws(id));
  }

  #build(): void {
    const { value: listed = [], failure } = this.#listing;
    this.#dialect = this.#source.dialect(this.#listed ?? listed);
    const state = failure ? State.FAILED : State.READY;
    const models = listed.map((entry) => {
      const { created } = entry;
      const stateDetail = failure?.message ?? "";
      const known = { state, stateDetail, ...(created > 0 && { created }) };
      return this.#draws(entry) ? this.#image(entry, known) : this.#chat(entry, known);
    });
    if (!isDeepStrictEqual(models, this.#models)) this.#models = models;
  }

  #chat(listed: Listed, known: Partial<Model>): Model {
    const { id, pictures = true, takes, contextLength = this.#lengths.get(id) ?? 0 } = listed;
    const { maxTokens = 0 } = this.#source;
    const refused = this.refusedFor(id);
    const said = this.dialect.listsFields ? listed.fields : undefined;
    const supports = supportedBy(this.dialect).filter(
      (field) =>
        // A refused `max_tokens` goes by its other name, so it is still supported.
        (field === "max_tokens" || !refused.has(field)) &&
        (pictures || !drawing.includes(field)) &&
        (!said || said.has(field) || !saidOf.has(field)),
    );
    const model = { ...known, maxTokens, contextLength };
    if (!takes) return modelOf(id, Task.CHAT, { ...model, supports });
    const told = supportedOf(supports, takes);
    return modelOf(id, Task.CHAT, { ...model, supports: told, ...modalitiesOf(told) });
  }

  #image({ id }: Listed, known: Partial<Model>): Model {
    const profile = profileOf(id, this.dialect.images);
    const { side } = profile;
    const supports = supportedImages(profile).filter((field) => !this.refusedFor(id).has(field));
    const defaults: Model["defaults"] = side === undefined ? {} : { width: side, height: side };
    return modelOf(id, Task.TEXT_TO_IMAGE, { ...known, supports, defaults });
  }
}

/** Fields of which it counts what a list says. Of tiers of service none says anything. */
const saidOf: ReadonlySet<string> = new Set(
  [...samplingFields, logprobs, "top_logprobs"].filter((field) => field !== "service_tier"),
);

const none: ReadonlySet<string> = new Set();
