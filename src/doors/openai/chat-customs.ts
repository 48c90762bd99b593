/** Custom tools in requests of chat completions, put the contract's way. */
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { isHopeless } from "../../core/violations.js";
import { tooManyItems } from "../items.js";
import { fields } from "../json/known.js";
import { finding, type Names } from "../json/rename.js";
import { customName } from "./allowed-tools.js";
import type { Customs } from "./custom-calls.js";
import { asArguments, functionOf, isCustom } from "./custom-tools.js";

/** What is read of a tool's member `custom`. */
export const customFields = fields({
  ...{ name: true, description: true },
  format: fields({ type: true, grammar: fields({ syntax: true, definition: true }) }),
});

/** What is read of the same member of a call. */
export const customCallFields = fields({ name: true, input: true });

/** Reads one request. Where nothing in it is custom it is handed on as it is. */
export class ChatCustoms {
  readonly wrong: Violation[] = [];
  readonly warnings = new Set<string>();
  /** Where something custom stands. */
  #places: Set<string> | undefined;

  /** A request with functions in place of custom tools, of the choice, too. */
  read(json: JsonObject): JsonObject {
    let asked = json;
    const { tools, tool_choice: choice } = json;
    if (Array.isArray(tools) && tools.some(isCustom)) {
      asked = { ...asked, tools: this.#each(tools, "tools", (tool, at) => this.#tool(tool, at)) };
    }
    if (isCustom(choice)) {
      this.#at("tool_choice");
      asked = { ...asked, tool_choice: { type: "function", function: choice.custom } };
    }
    return asked;
  }

  /** Calls of a message, as calls of functions. @param at where they stand */
  calls(calls: readonly unknown[], at: string): readonly unknown[] {
    return this.#each(calls, at, (call, place) => this.#call(call, place));
  }

  /** The client's names of fields, those of what is custom among them. @param others those of the others */
  names(others: Readonly<Record<string, string>>): Names {
    const places = this.#places;
    if (!places) return others;
    const nameOf = finding(others);
    return (field) => {
      const [, at = "", member = ""] = functionField.exec(field) ?? [];
      return nameOf(places.has(at) ? `${at}.custom${member}` : field);
    };
  }

  /** Of a list that is too long, which the decoder tells, nothing is put; of one with much that is wrong, the first. */
  #each(
    items: readonly unknown[],
    field: string,
    put: (item: JsonObject, at: string) => unknown,
  ): readonly unknown[] {
    if (tooManyItems(field, items.length)) return items;
    const before = this.wrong.length;
    const all = [...items];
    for (const [i, item] of items.entries()) {
      if (isHopeless(this.wrong, before, field, i)) break;
      if (!isCustom(item)) continue;
      const at = `${field}[${i}]`;
      this.#at(at);
      all[i] = put(item, at);
    }
    return all;
  }

  #at(place: string): void {
    this.#places ??= new Set();
    this.#places.add(place);
  }

  #tool({ custom }: JsonObject, at: string): unknown {
    const reading = { at: `${at}.custom`, grammarIn: "grammar" } as const;
    const { wrong, warnings } = this;
    return {
      type: "function",
      function: isObject(custom) ? functionOf(custom, { ...reading, wrong, warnings }) : custom,
    };
  }

  #call({ custom, ...call }: JsonObject, at: string): unknown {
    if (!isObject(custom)) return { ...call, type: "function", function: custom };
    const args = asArguments(custom.input);
    if (args === undefined) {
      this.wrong.push({ field: `${at}.custom.input`, message: "must be a string" });
    }
    return { ...call, type: "function", function: { name: custom.name, arguments: args } };
  }
}

/** A field that has the client's name below `custom`, too. */
const functionField = /^(.+)\.function(|\.name|\.description)$/;

/** Names of the custom tools of a request. */
export function customsOf({ tools }: JsonObject): Customs {
  if (!Array.isArray(tools)) return none;
  const names = (tools as unknown[]).filter(isCustom).map(customName);
  return new Set(names.filter((name) => typeof name === "string"));
}

const none: Customs = new Set();
