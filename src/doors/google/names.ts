/** What the contract's fields are called in the Gemini API. */
import { type Naming, namesBy, type Place } from "../json/places.js";

const config = "generationConfig";

const namingBy = (effort: string): Naming => ({
  moved: [
    ["messages", "contents"],
    ["temperature", `${config}.temperature`],
    ["max_tokens", `${config}.maxOutputTokens`],
    ["top_p", `${config}.topP`],
    ["top_k", `${config}.topK`],
    ["seed", `${config}.seed`],
    ["presence_penalty", `${config}.presencePenalty`],
    ["frequency_penalty", `${config}.frequencyPenalty`],
    ["logprobs", `${config}.responseLogprobs`],
    ["top_logprobs", `${config}.logprobs`],
    ["stop", `${config}.stopSequences`],
    ["response_format", `${config}.responseMimeType`],
    ["modalities", `${config}.responseModalities`],
    ["image_config.aspect_ratio", `${config}.imageConfig.aspectRatio`],
    ["image_config.image_size", `${config}.imageConfig.imageSize`],
    ["image_config", `${config}.imageConfig`],
    ["reasoning_effort", effort],
    ["service_tier", "serviceTier"],
    ["tool_choice", "toolConfig.functionCallingConfig"],
  ],
  ofCall: { ".function": "", ".function.name": ".name", ".function.arguments": ".args" },
  ofTool: (rest) => rest.replace(/^\.function/, ""),
  ofPart: (rest) => rest.replace(/^\.(?:image_url|file|input_audio).*$/, ""),
  callId: "id",
});

/**
 * Finds the client's names of fields, as `namesBy` does.
 * @param schemas what it calls the schema of each tool
 * @param schema what it calls the answer's
 * @param effort what it calls how much to think
 */
export function namesOf(
  messages: readonly Place[],
  tools: readonly string[],
  own: ReadonlySet<string | undefined>,
  schemas: readonly string[],
  schema: string,
  effort: string,
): (field: string) => string {
  return (field) => {
    if (field.startsWith("response_format.json_schema")) return schema;
    const [, item] = /^response_format\.choice((?:\[\d+\])?)$/.exec(field) ?? [];
    if (item !== undefined) return `${schema}.enum${item}`;
    const name = namesBy(namingBy(effort), messages, tools, own)(field);
    const [, tool] = /^tools\[(\d+)\]\.function\.parameters$/.exec(field) ?? [];
    return tool === undefined
      ? name
      : name.replace(/parameters$/, schemas[Number(tool)] ?? "parameters");
  };
}
