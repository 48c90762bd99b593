/** Custom tools in requests of chat completions, put the contract's way. */
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { fields } from "../json/known.js";
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
  /** The client's names of fields, by the contract's. */
  readonly names: Record<string, string> = {};

  /** A request with functions in place of custom tools, of the choice, too. */
  read(json: JsonObject): JsonObject {
    let asked = json;
    const { tools, tool_choice: choice } = json;
    if (Array.isArray(tools) && tools.some(isCustom)) {
      asked = { ...asked, tools: tools.map((tool, i) => this.#tool(tool, `tools[${i}]`)) };
    }
    if (isCustom(choice)) {
      this.#rename("tool_choice");
      asked = { ...asked, tool_choice: { type: "function", function: choice.custom } };
    }
    return asked;
  }

  /** Calls of a message, as calls of functions. @param at where they stand */
  calls(calls: readonly unknown[], at: string): unknown[] {
    return calls.map((call, i) => (isCustom(call) ? this.#call(call, `${at}[${i}]`) : call));
  }

  #tool(tool: unknown, at: string): unknown {
    if (!isCustom(tool)) return tool;
    const { custom } = tool;
    this.#rename(at);
    const reading = { at: `${at}.custom`, grammarIn: "grammar" } as const;
    const { wrong, warnings } = this;
    return {
      type: "function",
      function: isObject(custom) ? functionOf(custom, { ...reading, wrong, warnings }) : custom,
    };
  }

  #call({ custom, ...call }: JsonObject, at: string): unknown {
    this.#rename(at);
    if (!isObject(custom)) return { ...call, type: "function", function: custom };
    const args = asArguments(custom.input);
    if (args === undefined) {
      this.wrong.push({ field: `${at}.custom.input`, message: "must be a string" });
    }
    return { ...call, type: "function", function: { name: custom.name, arguments: args } };
  }

  #rename(at: string): void {
    for (const member of ["", ".name", ".description"]) {
      this.names[`${at}.function${member}`] = `${at}.custom${member}`;
    }
  }
}

/** Names of the custom tools of a request. */
export function customsOf({ tools }: JsonObject): Customs {
  if (!Array.isArray(tools)) return none;
  const names = (tools as unknown[]).filter(isCustom).map(customName);
  return new Set(names.filter((name) => typeof name === "string"));
}

const none: Customs = new Set();
