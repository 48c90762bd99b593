/** What the contract's fields are called in the Messages API. */
import { type Naming, namesBy, type Place } from "../json/places.js";

const namingBy = (effort: string, format: string): Naming => ({
  moved: [
    ["stop", "stop_sequences"],
    ["tool_choice.function", "tool_choice"],
    ["response_format.json_schema", format],
    ["response_format", format],
    ["reasoning_effort", effort],
    ["user", "metadata.user_id"],
  ],
  ofCall: { ".function": "", ".function.name": ".name", ".function.arguments": ".input" },
  ofTool: (rest) => rest.replace(/^\.function/, "").replace(/^\.parameters/, ".input_schema"),
  ofPart: (rest) =>
    rest.replace(/^\.file\.filename$/, ".title").replace(/^\.(?:image_url|file).*$/, ".source"),
  callId: "tool_use_id",
});

/**
 * Finds the client's names of fields, as `namesBy` does.
 * @param effort what it calls how much to think
 * @param format what it calls the answer's form
 */
export const namesOf =
  (
    messages: readonly Place[],
    tools: readonly string[],
    own: ReadonlySet<string | undefined>,
    effort: string,
    format: string,
  ): ((field: string) => string) =>
  (field) =>
    namesBy(namingBy(effort, format), messages, tools, own)(field);
