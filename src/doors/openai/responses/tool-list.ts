/** Tools in the flat form of the Responses API, as a request lists them, and as items of its input add some. */
import type { Violation } from "../../../core/errors.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { tooManyItems } from "../../items.js";
import { quoted } from "../../json/quoted.js";
import { functionOf, isCustom } from "../custom-tools.js";
import { type Named, qualified } from "./namespaces.js";
import {
  isClients,
  isSearch,
  type Loads,
  loadsOf,
  searchOutput,
  toolSearch,
} from "./tool-search.js";

/** The type of items that add tools: Codex sends those of newer models so. */
export const addedTools = "additional_tools";

/** Tools as they are read, one list after the other. */
export class ToolList {
  /** As the contract has them in JSON. */
  readonly read: unknown[] = [];
  /** As the client wrote them. */
  readonly kept: unknown[] = [];
  /** Where each of `read` stands at the client. */
  readonly places: string[] = [];
  /** Those that the client calls otherwise, by the names that models know. */
  readonly namespaces = new Map<string, Named>();
  /** Names of custom tools. */
  readonly customs = new Set<string>();
  /** Types of those that are dropped, as text. */
  readonly dropped = new Set<string>();
  /** What else is not supported. */
  readonly warnings = new Set<string>();
  /** Where each name stands first. */
  readonly #names = new Map<unknown, string>();
  /** Tools that a search has to find first, by their names: where each is, and what says so. */
  readonly #deferred = new Map<unknown, { readonly index: number; readonly tool: JsonObject }>();
  readonly #wrong: Violation[];
  /** Whether a search that the client runs is offered. */
  searches = false;

  /** @param wrong gets what is wrong of custom tools */
  constructor(wrong: Violation[]) {
    this.#wrong = wrong;
  }

  /** Those of items that add some, also by what a search found. @returns whether there is such an item */
  added(input: readonly unknown[]): boolean {
    let some = false;
    if (tooManyItems("input", input.length)) return some;
    for (const [i, item] of input.entries()) {
      if (!isObject(item)) continue;
      const isFound = item.type === searchOutput;
      if (item.type !== addedTools && !isFound) continue;
      const field = `input[${i}].tools`;
      const isHosted = isFound && !isClients(item);
      if (Array.isArray(item.tools)) this.list(item.tools, field, { isFound, isHosted });
      else if (isHosted) continue;
      else this.#wrong.push({ field, message: "must be an array" });
      some = true;
    }
    return some;
  }

  /** Positions of those that the model is told of: where the client searches, not of those that it has not found. */
  get offered(): readonly number[] {
    const all = [...this.read.keys()];
    if (!this.searches || this.#deferred.size === 0) return all;
    const waiting = new Set([...this.#deferred.values()].map(({ index }) => index));
    return all.filter((i) => !waiting.has(i));
  }

  /** What is to be told before a call of one that is offered ahead of any search, which then is not dropped. */
  takeLoads(): Loads {
    if (this.searches || this.#deferred.size === 0 || !this.dropped.delete(toolSearch)) return none;
    return loadsOf([...this.#deferred].map(([name, { tool }]) => [name, tool]));
  }

  /** Notes that one may be called. */
  load({ name }: JsonObject, namespace: unknown): void {
    this.#deferred.delete(qualified(namespace, name));
  }

  /** Of a call of the name of the search nobody would know what it is of. */
  checkSearch(): void {
    const other = this.searches ? this.#names.get(toolSearch) : undefined;
    if (other === undefined) return;
    this.#wrong.push({ field: `${other}.name`, message: "must be the name of no other tool" });
  }

  /** @param of which these are: in one namespace all of them, or found, again or for the first time */
  list(tools: readonly unknown[], at: string, of: ListOf = {}): void {
    const { namespace, isFound = false, isHosted = false } = of;
    for (const [i, tool] of tools.entries()) {
      // The decoder finds that, too: what follows is not worth its memory.
      if (tooManyItems("tools", this.read.length)) return;
      const place = `${at}[${i}]`;
      if (namespace === undefined && isNamespace(tool)) {
        this.kept.push(tool);
        this.list(tool.tools, `${place}.tools`, { ...of, namespace: tool });
      } else if (isHosted) this.load(isObject(tool) ? tool : {}, namespace?.name);
      else if (isSearch(tool)) this.#search(tool, place);
      else if (isForeign(tool)) this.dropped.add(quoted(tool.type));
      else if (isFound && this.#names.has(knownName(tool, namespace))) {
        this.load(tool as JsonObject, namespace?.name);
      } else {
        if (namespace === undefined) this.kept.push(tool);
        this.places.push(place);
        if (!isFound) this.#defer(tool, namespace);
        this.read.push(this.#tool(tool, place, namespace?.name));
      }
    }
  }

  #defer(tool: unknown, namespace?: Namespace): void {
    if (!isObject(tool) || tool.defer_loading !== true) return;
    const within = namespace ? { ...namespace, tools: [tool] } : tool;
    const index = this.read.length;
    this.#deferred.set(knownName(tool, namespace), { index, tool: within });
  }

  #search(tool: JsonObject, place: string): void {
    this.kept.push(tool);
    if (this.searches) return;
    this.searches = true;
    this.namespaces.set(toolSearch, { name: toolSearch, searches: true });
    this.places.push(place);
    this.read.push(nested({ ...tool, type: "function", name: toolSearch }, members));
  }

  #tool(tool: unknown, at: string, namespace?: string): unknown {
    if (!isObject(tool)) return tool;
    const { name } = tool;
    const known = qualified(namespace, name);
    if (!this.#names.has(known)) this.#names.set(known, at);
    if (namespace !== undefined && typeof name === "string") {
      this.namespaces.set(known as string, { name, namespace });
    }
    // It waits for what comes of a call as for that of any other.
    if (tool.async === true) this.warnings.add("tools: async is not supported, ignored");
    if (!isCustom(tool)) return nested({ ...tool, namespace }, members);
    if (typeof known === "string") this.customs.add(known);
    const reading = { at, wrong: this.#wrong, warnings: this.warnings };
    return nested({ ...tool, ...functionOf(tool, reading), namespace }, members);
  }
}

interface Namespace {
  readonly name: string;
  readonly tools: readonly unknown[];
}

interface ListOf {
  readonly namespace?: Namespace;
  readonly isFound?: boolean;
  /** Whether OpenAI found them: the client can run those alone of which it told. */
  readonly isHosted?: boolean;
}

const knownName = (tool: unknown, namespace: Namespace | undefined): unknown =>
  isObject(tool) ? qualified(namespace?.name, tool.name) : undefined;

const none: Loads = new Map();

const members = ["name", "description", "parameters", "strict"];

/** A tool, or the choice of one, with those members in an object `function`, where the contract has them. */
export const nested = (flat: JsonObject, names: readonly string[]) => ({
  type: isCustom(flat) ? "function" : flat.type,
  function: {
    ...Object.fromEntries(names.map((name) => [name, flat[name]])),
    name: qualified(flat.namespace, flat.name),
  },
});

/** Types of tools that the client runs itself. */
export const callable = ["function", "custom"];

const ours = [...callable, "auto", "none", "required"];

/** Whether a tool, or the choice of one, is of a kind that OpenAI runs itself. */
export const isForeign = (tool: unknown): tool is { readonly type: string } =>
  isObject(tool) && typeof tool.type === "string" && !ours.includes(tool.type);

const isNamespace = (tool: unknown): tool is Namespace =>
  isObject(tool) &&
  tool.type === "namespace" &&
  typeof tool.name === "string" &&
  Array.isArray(tool.tools);
