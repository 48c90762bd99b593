/** Tells models of tools whose templates do not. */
import type { JsonObject } from "../../../core/json.js";
import type { ToolForm } from "./form.js";
import { writtenCalls } from "./written.js";

/** A tool as templates read it. */
export interface ToldTool {
  readonly type: string;
  readonly function: {
    readonly name: string;
    readonly description: string;
    /** Schema of its arguments. */
    readonly parameters: JsonObject;
  };
}

const sample = "a_tool_of_this_name";

/** Whether a template tells the model of a tool. @param render a conversation with tools; may throw */
export function isTold(render: (tools: readonly ToldTool[]) => string): boolean {
  const parameters = { type: "object", properties: {} };
  const tool = { name: sample, description: "Some.", parameters };
  try {
    return render([{ type: "function", function: tool }]).includes(sample);
  } catch {
    return false;
  }
}

/** What a system message says of tools, in the way in which DeepSeek has its models told. */
export function toolText(tools: readonly ToldTool[], form: ToolForm): string {
  const each = tools.map(
    ({ function: { name, description, parameters } }) =>
      `### ${name}\nDescription: ${description}\n\nParameters: ${JSON.stringify(parameters)}\n\n`,
  );
  const call = writtenCalls([{ name: "tool_name", args: { argument: "value" } }], form);
  const isPython = form.call.as === "python";
  const how = isPython
    ? "by their names, as Python has them"
    : "as a JSON object that fits its parameters";
  const more =
    form.several === "list"
      ? "Several calls stand in one list. Write nothing besides where you call one."
      : "Several calls follow one another without anything between them.";
  return (
    `## Tools\nYou have access to the following tools:\n\n${each.join("")}` +
    "To call one, write exactly this, with its name in the place of tool_name, and its arguments " +
    `${how}:\n${call}\n${more}`
  );
}
