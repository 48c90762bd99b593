/** A conversation as a list of items, to the contract's messages. */
import { type LintelError, unsupported, type Violation } from "../../../core/errors.js";
import { isObject, type JsonObject, tooDeep } from "../../../core/json.js";
import { embeddedJson } from "../../../core/long-numbers.js";
import { tooManyItems } from "../../items.js";
import { quoted } from "../../json/quoted.js";
import { Breakpoints } from "../breakpoints.js";
import { asArguments } from "../custom-tools.js";
import { configurationUpdate } from "./configuration.js";
import { qualified } from "./namespaces.js";
import { contentOf, type ItemReading, withEndMark } from "./parts.js";
import { imageCall, pictureOf } from "./picture.js";
import { joined, readThoughts, type Thought } from "./thoughts.js";
import { addedTools } from "./tool-list.js";
import { isClients, searchCall, searchOutput, toldOf, toolSearch } from "./tool-search.js";

/** What became of the items. */
export interface Conversation {
  /** Messages as the contract has them in JSON; what is no message stands where it stood. */
  readonly messages: unknown;
  /** What can't be read, by the contract's names where it has some. */
  readonly violations: readonly Violation[];
  /** The first item, or part of one, that this gateway can't serve. */
  readonly refused: LintelError | undefined;
  /** Where a message begins with what the client wrote, by its position. */
  readonly places: readonly Place[];
  /** What was dropped of them. */
  readonly warnings: ReadonlySet<string>;
  /** Where files by their `file_url` stand at the client. */
  readonly fileUrls: ReadonlySet<string>;
}

/** Where the parts of a message stand at the client. */
export interface Place {
  readonly at: string;
  content: string;
  /** Of each call of a tool. */
  readonly calls: string[];
  /** Of each picture that the model drew. */
  readonly images: string[];
  /** Of the mark at its end, where it has one. */
  mark?: string;
}

interface Message {
  readonly role: unknown;
  content?: unknown;
  tool_calls?: unknown[];
  images?: unknown[];
  readonly tool_call_id?: unknown;
}

/**
 * Reads `instructions` and `input`. What an assistant thinks and says and the calls beside it, which are
 * items of their own, become one message: a model server takes nothing between a call and its result.
 */
export function readItems(json: JsonObject): Conversation {
  const { instructions, input } = json;
  const reading = new Reading(json);
  if (typeof (instructions ?? "") !== "string") {
    reading.violations.push({ field: "instructions", message: "must be a string" });
  } else if (instructions) {
    reading.add({ role: "system", content: instructions }, "instructions", "instructions");
  }
  if (typeof input === "string") reading.add({ role: "user", content: input }, "input", "input");
  else if (Array.isArray(input)) reading.items(input);
  else {
    const message = input == null ? "is required" : "must be a string, or an array of items";
    reading.violations.push({ field: "messages", message });
  }
  return reading;
}

class Reading implements Conversation, ItemReading {
  readonly messages: unknown[] = [];
  readonly violations: Violation[] = [];
  readonly places: Place[] = [];
  readonly warnings = new Set<string>();
  readonly fileUrls = new Set<string>();
  readonly breakpoints: Breakpoints;
  refused: LintelError | undefined;
  /** The last message, where it is an assistant's. */
  #assistant: Message | undefined;
  /** What it thought. */
  #thoughts: Thought[] = [];
  /** What was thought since: it belongs to what the assistant says next, or else said last. */
  #waiting: Thought[] = [];

  constructor(json: JsonObject) {
    this.breakpoints = new Breakpoints(json, this.violations);
  }

  items(input: readonly unknown[]): void {
    const tooMany = tooManyItems("messages", input.length);
    if (tooMany) this.violations.push(tooMany);
    else for (const [i, item] of input.entries()) this.#item(item, `input[${i}]`);
    this.#endTurn();
    this.breakpoints.end();
  }

  /** @param content where that stands */
  add(message: unknown, at: string, content = `${at}.content`, calls: string[] = []): void {
    this.messages.push(message);
    this.places.push({ at, content, calls, images: [] });
    const next = isObject(message) && message.role === "assistant" ? asMessage(message) : undefined;
    const thoughts = next ? this.#waiting : [];
    if (next) this.#waiting = [];
    this.#endTurn();
    this.#assistant = next;
    this.#thoughts = thoughts;
  }

  /** The assistant's message is complete: what waits still is of its turn, or of one that said nothing. */
  #endTurn(): void {
    if (this.#assistant) {
      this.#takeThoughts();
      Object.assign(this.#assistant, joined(this.#thoughts));
    }
    this.#assistant = undefined;
    this.#waiting = [];
  }

  /** What waits is the assistant's, whose message goes on. */
  #takeThoughts(): void {
    for (const thought of this.#waiting) this.#thoughts.push(thought);
    this.#waiting = [];
  }

  #item(item: unknown, at: string): void {
    if (!isObject(item)) {
      this.add(item, at);
      return;
    }
    const type = item.type ?? "message";
    switch (type) {
      case "message":
        this.#message(item, at);
        break;
      case "function_call":
        this.#call(item, at);
        break;
      case "custom_tool_call": {
        const args = asArguments(item.input);
        if (args === undefined) {
          this.violations.push({ field: `${at}.input`, message: "must be a string" });
        }
        this.#call({ ...item, arguments: args }, at);
        break;
      }
      case "function_call_output":
      case "custom_tool_call_output": {
        const content = contentOf(item.output, `${at}.output`, this);
        this.add({ role: "tool", tool_call_id: item.call_id, content }, at, `${at}.output`);
        break;
      }
      case searchCall:
        // Where OpenAI searched, all that it found is offered from the begin.
        if (isClients(item)) this.#search(item, at);
        break;
      case searchOutput: {
        if (!isClients(item)) break;
        const content = toldOf(item.tools);
        this.add({ role: "tool", tool_call_id: item.call_id, content }, at, `${at}.tools`);
        break;
      }
      case addedTools:
      case configurationUpdate:
        // No part of what was said.
        break;
      case imageCall:
        this.#picture(item, at);
        break;
      case "reasoning":
        this.#waiting.push(readThoughts(item, at, this.violations));
        break;
      default:
        if (typeof type === "string") this.refused ??= unsupported(at, whyNot(type));
        else this.violations.push({ field: `${at}.type`, message: "must be a string" });
        // Who sends nothing else is not to hear that there is nothing.
        this.add({ role: "user" }, at);
    }
  }

  #message({ role, content }: JsonObject, at: string): void {
    const said = contentOf(content, `${at}.content`, this);
    if (role !== "assistant") {
      this.add({ role, content: said }, at);
      return;
    }
    const message = withEndMark(said);
    const before = this.#assistant;
    const known = before?.content ?? "";
    const areTexts = typeof message.content === "string" && typeof known === "string";
    const hasMore = before?.tool_calls !== undefined || before?.images !== undefined;
    // A model that thought, or drew, in between goes on with what it said, in an item of its own.
    const goesOn = hasMore || this.#waiting.length > 0;
    if (before && goesOn && areTexts) {
      this.#takeThoughts();
      const between = hasMore ? "\n\n" : "";
      const content = [known, message.content].filter(Boolean).join(between);
      Object.assign(before, message, { content });
    } else this.add(Object.assign({ role }, message), at);
    const place = this.places.at(-1);
    if (place && message.cache_control !== undefined && Array.isArray(content))
      place.mark = `${at}.content[${content.length - 1}].cache_control`;
  }

  #call(item: JsonObject, at: string): void {
    const { call_id: id, namespace, arguments: args, extra_content } = item;
    const name = qualified(namespace, item.name);
    const call = { id, type: "function", function: { name, arguments: args }, extra_content };
    const before = this.#assistant;
    if (!before) this.add({ role: "assistant", tool_calls: [call] }, at, undefined, [at]);
    else {
      this.#takeThoughts();
      before.tool_calls ??= [];
      before.tool_calls.push(call);
      this.places.at(-1)?.calls.push(at);
    }
  }

  #picture(item: JsonObject, at: string): void {
    const picture = pictureOf(item);
    if (picture === undefined) return;
    const before = this.#assistant;
    if (!before) this.add({ role: "assistant", images: [picture] }, at);
    else {
      this.#takeThoughts();
      before.images ??= [];
      before.images.push(picture);
    }
    this.places.at(-1)?.images.push(at);
  }

  #search({ call_id, arguments: args }: JsonObject, at: string): void {
    const field = `${at}.arguments`;
    const text = isObject(args) ? embeddedJson(args) : undefined;
    if (text === undefined) {
      this.violations.push({ field, message: isObject(args) ? tooDeep : "must be an object" });
    }
    this.#call({ call_id, name: toolSearch, arguments: text }, at);
  }

  refuse(place: string, what: string): void {
    const why = `${quoted(what)} is not supported, only texts, and images, files and sounds that are there or have an address`;
    this.refused ??= unsupported(place, why);
  }
}

const asMessage = (message: JsonObject): Message => message as unknown as Message;

function whyNot(type: string): string {
  const named = `an item of the type ${quoted(type)} is not supported`;
  return type === "item_reference"
    ? `${named}: nothing is kept here, send the item itself`
    : `${named}, only message, function_call, custom_tool_call, tool_search_call, their outputs, image_generation_call, reasoning, additional_tools and configuration_update are`;
}
