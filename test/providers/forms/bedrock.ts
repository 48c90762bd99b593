/** What requests say, as Bedrock's Converse API has it. */
import { address, schema } from "../asked.js";
import type { Form, Forms } from "../wire.js";

const shown = (part: Form) => ({
  messages: [{ role: "user", content: [{ text: "This?" }, part] }],
});

const tool = (name: string, more: object = {}) => ({
  toolSpec: { name, description: `Tells ${name}.`, inputSchema: { json: schema }, ...more },
});

const tools = [tool("get_weather"), tool("get_time")];
const chosen = (toolChoice: Form): Form => ({ toolConfig: { tools, toolChoice } });
const tuned = (more: Form): Form => ({ inferenceConfig: more });
const point = { cachePoint: { type: "default" } };
const png = { format: "png", source: { bytes: "iVBORw0KGgo=" } };
const formed: Form = {
  additionalModelRequestFields: { output_config: { format: { type: "json_schema", schema } } },
};

/** Bedrock's, for Claude. */
export const bedrockForms: Forms = {
  temperature: tuned({ temperature: 0.25 }),
  top_p: tuned({ topP: 0.75 }),
  top_k: { additionalModelRequestFields: { top_k: 17 } },
  seed: tuned({ seed: 4242 }),
  stop: tuned({ stopSequences: ["HALT", "END"] }),
  frequency_penalty: { frequency_penalty: 0.375 },
  presence_penalty: { presence_penalty: 0.625 },
  repetition_penalty: { repetition_penalty: 1.25 },
  min_p: { min_p: 0.125 },
  logit_bias: { logit_bias: { 1717: -2.5 } },
  verbosity: { verbosity: "low" },
  service_tier: { serviceTier: { type: "flex" } },
  logprobs: {},
  max_tokens: tuned({ maxTokens: 3210 }),
  conversation: {
    system: [{ text: "Be brief." }],
    messages: [
      { role: "user", content: [{ text: "How is the weather?" }] },
      {
        role: "assistant",
        content: [
          { text: "Let me see." },
          { toolUse: { toolUseId: "call_0001", name: "get_weather", input: { city: "Rome" } } },
        ],
      },
      {
        role: "user",
        content: [{ toolResult: { toolUseId: "call_0001", content: [{ text: "It rains." }] } }],
      },
      { role: "assistant", content: [{ text: "Rain." }] },
      { role: "user", content: [{ text: "Sure?" }] },
    ],
  },
  thoughts: {
    messages: [{ content: [{ reasoningContent: { reasoningText: { text: "It looks wet." } } }] }],
  },
  image: shown({ image: png }),
  "image's detail": shown({ image: { ...png, detail: "low" } }),
  "image's address": shown({ image: { source: { url: address } } }),
  file: shown({ document: { format: "pdf", name: "a", source: { bytes: "JVBERi0=" } } }),
  sound: shown({ audio: { format: "wav" } }),
  "image of a tool": {
    messages: [
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: "call_0001", content: [{ text: "It looks so:" }] } },
          { image: png },
        ],
      },
    ],
  },
  tools: { toolConfig: { tools } },
  "strict tool": {
    toolConfig: { tools: [tool("get_weather", { strict: true }), tool("get_time")] },
  },
  "lax tool": { toolConfig: { tools: [tool("get_weather", { strict: false })] } },
  "named tool": chosen({ tool: { name: "get_time" } }),
  "some tool": chosen({ any: {} }),
  // There is no choice for it; its provider leaves the tools out, which comes to the same.
  "no tool": { messages: [{ role: "user" }] },
  "one call": chosen({ disable_parallel_tool_use: true }),
  schema: formed,
  "lax schema": formed,
  json: { responseFormat: { type: "json_object" } },
  user: { requestMetadata: { user: "u-1" } },
  "cache key": { promptCacheKey: "k-1" },
  "marked part": {
    messages: [{ role: "user", content: [{ text: "A book." }, point, { text: "Sum it up." }] }],
  },
  "marked message": {
    system: [{ text: "A book." }, { cachePoint: { type: "default", ttl: "1h" } }],
  },
  "marked tool": { toolConfig: { tools: [tool("get_weather"), point] } },
};
