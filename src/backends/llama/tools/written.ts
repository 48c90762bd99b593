/** Calls as a model writes them. */
import type { JsonObject } from "../../../core/json.js";
import { nextOf, type ToolForm } from "./form.js";
import { pythonOf } from "./python.js";

/** A call, its arguments as an object. */
export interface Call {
  readonly name: string;
  readonly args: JsonObject;
}

/**
 * Several calls, with what stands around them. Of a form whose calls are no text: none.
 * @param first number of the first one, where they are numbered in a conversation
 */
export function writtenCalls(calls: readonly Call[], form: ToolForm, first = 0): string {
  const { begin, end, several } = form;
  const all = calls.map((call, at) => written(call, at, form, first));
  if (several === "list") return `${begin}[${all.join(", ")}]${end}`;
  if (several === "together") return `${begin}${all.join("")}${end}`;
  return all.map((call) => `${begin}${call}${end}`).join(form.said === undefined ? "\n" : "");
}

function written({ name, args }: Call, at: number, { call: form }: ToolForm, first: number) {
  switch (form.as) {
    case "json": {
      const number = form.number ? `"${form.number}": "${at}", ` : "";
      return `{${number}"${form.name}": ${JSON.stringify(name)}, "${form.args}": ${JSON.stringify(args)}}`;
    }
    case "keyed":
      return JSON.stringify({ [name]: args });
    case "named": {
      const number = form.isNumbered ? `:${first + at}` : "";
      return form.open + name + number + form.between + JSON.stringify(args) + form.close;
    }
    case "tagged": {
      const all = Object.entries(args).map(([key, value]) => {
        const [open, close] = form.key;
        return typeof value === "string"
          ? open + key + close + value + nextOf(form, key)
          : open + key + (form.json ?? close) + JSON.stringify(value) + nextOf(form, key);
      });
      return form.name[0] + name + form.name[1] + all.join("") + form.close;
    }
    case "python": {
      const all = Object.entries(args).map(([key, value]) => `${key}=${pythonOf(value)}`);
      return `${name}(${all.join(", ")})${form.isLine ? "\n" : ""}`;
    }
    case "channel":
      return "";
  }
}
