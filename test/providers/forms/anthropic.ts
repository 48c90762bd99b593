/** What requests say, as Anthropic's Messages API has it. */
import { address, schema } from "../asked.js";
import type { Form, Forms } from "../wire.js";

const shown = (part: Form) => ({
  messages: [{ role: "user", content: [{ type: "text", text: "This?" }, part] }],
});

const tool = (name: string, more: object = {}) => ({
  ...{ name, description: `Tells ${name}.`, input_schema: schema },
  ...more,
});

const tools = [tool("get_weather"), tool("get_time")];
const png = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
const marked = { cache_control: { type: "ephemeral" } };

/** Anthropic's. */
export const anthropicForms: Forms = {
  temperature: { temperature: 0.25 },
  top_p: { top_p: 0.75 },
  top_k: { top_k: 17 },
  seed: { seed: 4242 },
  stop: { stop_sequences: ["HALT", "END"] },
  frequency_penalty: { frequency_penalty: 0.375 },
  presence_penalty: { presence_penalty: 0.625 },
  repetition_penalty: { repetition_penalty: 1.25 },
  min_p: { min_p: 0.125 },
  logit_bias: { logit_bias: { 1717: -2.5 } },
  verbosity: { verbosity: "low" },
  service_tier: { service_tier: "flex" },
  logprobs: {},
  max_tokens: { max_tokens: 3210 },
  conversation: {
    system: [{ type: "text", text: "Be brief." }],
    messages: [
      { role: "user", content: [{ type: "text", text: "How is the weather?" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me see." },
          { type: "tool_use", id: "call_0001", name: "get_weather", input: { city: "Rome" } },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "call_0001", content: "It rains." }],
      },
      { role: "assistant", content: [{ type: "text", text: "Rain." }] },
      { role: "user", content: [{ type: "text", text: "Sure?" }] },
    ],
  },
  thoughts: { messages: [{ content: [{ type: "thinking", thinking: "It looks wet." }] }] },
  image: shown({ type: "image", source: png }),
  "image's detail": shown({ type: "image", source: png, detail: "low" }),
  "image's address": shown({ type: "image", source: { type: "url", url: address } }),
  file: shown({
    ...{ type: "document", title: "a.pdf" },
    source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
  }),
  sound: shown({ type: "audio" }),
  "image of a tool": {
    messages: [
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_0001", content: "It looks so:" },
          { type: "image", source: png },
        ],
      },
    ],
  },
  tools: { tools },
  "strict tool": { tools: [tool("get_weather", { strict: true }), tool("get_time")] },
  "lax tool": { tools: [tool("get_weather", { strict: false })] },
  "named tool": { tools, tool_choice: { type: "tool", name: "get_time" } },
  "some tool": { tools, tool_choice: { type: "any" } },
  // There is a choice for it; its provider leaves the tools out, which comes to the same.
  "no tool": { messages: [{ role: "user" }] },
  "one call": { tools, tool_choice: { disable_parallel_tool_use: true } },
  schema: { output_config: { format: { type: "json_schema", schema } } },
  "lax schema": { output_config: { format: { type: "json_schema", schema } } },
  json: { output_config: { format: { type: "json_object" } } },
  user: { metadata: { user_id: "u-1" } },
  "cache key": { prompt_cache_key: "k-1" },
  "marked part": {
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "A book.", ...marked },
          { type: "text", text: "Sum it up." },
        ],
      },
    ],
  },
  "marked message": {
    system: [{ type: "text", text: "A book.", cache_control: { type: "ephemeral", ttl: "1h" } }],
  },
  "marked tool": { tools: [{ ...tool("get_weather"), ...marked }] },
};
