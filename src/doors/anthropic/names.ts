/** What the contract's fields are called in the Messages API. */
import { type Naming, namesBy, type Place } from "../json/places.js";

const naming: Naming = {
  moved: [
    ["stop", "stop_sequences"],
    ["tool_choice.function", "tool_choice"],
    ["response_format.json_schema", "output_config.format"],
    ["response_format", "output_config.format"],
    ["reasoning_effort", "output_config.effort"],
    ["user", "metadata.user_id"],
  ],
  ofCall: { ".function": "", ".function.name": ".name", ".function.arguments": ".input" },
  ofTool: (rest) => rest.replace(/^\.function/, "").replace(/^\.parameters/, ".input_schema"),
  ofPart: (rest) =>
    rest.replace(/^\.file\.filename$/, ".title").replace(/^\.(?:image_url|file).*$/, ".source"),
  callId: "tool_use_id",
};

/** Finds the client's names of fields, as `namesBy` does. */
export const namesOf = (
  messages: readonly Place[],
  tools: readonly string[],
  own: ReadonlySet<string | undefined>,
): ((field: string) => string) => namesBy(naming, messages, tools, own);
