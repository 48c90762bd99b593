/** What requests say, as OpenAI's Responses API has it. */
import { address, pdf, png, schema } from "../asked.js";
import type { Form, Forms } from "../wire.js";

const shown = (part: Form) => ({
  input: [{ role: "user", content: [{ type: "input_text", text: "This?" }, part] }],
});

const tool = (name: string, more: object = {}) => ({
  ...{ type: "function", name, description: `Tells ${name}.`, parameters: schema },
  ...more,
});

const tools = [tool("get_weather"), tool("get_time")];

const formed = (strict: boolean) => ({
  text: {
    format: { type: "json_schema", name: "place", description: "A place", schema, strict },
  },
});

/** OpenAI's; no field of these models is marked or kept from thinking. */
export const responseForms: Forms = {
  temperature: { temperature: 0.25 },
  top_p: { top_p: 0.75 },
  top_k: { top_k: 17 },
  seed: { seed: 4242 },
  stop: { stop: ["HALT", "END"] },
  // It has none of these but the last.
  frequency_penalty: { frequency_penalty: 0.375 },
  presence_penalty: { presence_penalty: 0.625 },
  repetition_penalty: { repetition_penalty: 1.25 },
  min_p: { min_p: 0.125 },
  logit_bias: { logit_bias: { 1717: -2.5 } },
  verbosity: { text: { verbosity: "low" } },
  service_tier: { service_tier: "flex" },
  logprobs: { top_logprobs: 2 },
  max_tokens: { max_output_tokens: 3210 },
  conversation: {
    input: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "input_text", text: "How is the weather?" }] },
      { role: "assistant", content: [{ type: "output_text", text: "Let me see." }] },
      {
        ...{ type: "function_call", call_id: "call_0001" },
        ...{ name: "get_weather", arguments: '{"city":"Rome"}' },
      },
      { type: "function_call_output", call_id: "call_0001", output: "It rains." },
      { role: "assistant", content: [{ type: "output_text", text: "Rain." }] },
      { role: "user", content: [{ type: "input_text", text: "Sure?" }] },
    ],
  },
  thoughts: { input: [{ type: "reasoning", content: [{ text: "It looks wet." }] }] },
  image: shown({ type: "input_image", image_url: png }),
  "image's detail": shown({ type: "input_image", image_url: png, detail: "low" }),
  "image's address": shown({ type: "input_image", image_url: address }),
  file: shown({ type: "input_file", filename: "a.pdf", file_data: pdf }),
  sound: shown({ type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }),
  "image of a tool": {
    input: [
      { type: "function_call_output", call_id: "call_0001", output: "It looks so:" },
      { role: "user", content: [{ type: "input_image", image_url: png }] },
    ],
  },
  tools: { tools },
  "strict tool": { tools: [tool("get_weather", { strict: true }), tool("get_time")] },
  "lax tool": { tools: [tool("get_weather", { strict: false })] },
  "named tool": { tools, tool_choice: { type: "function", name: "get_time" } },
  "some tool": { tools, tool_choice: "required" },
  "no tool": { tools, tool_choice: "none" },
  "one call": { tools, parallel_tool_calls: false },
  schema: formed(true),
  "lax schema": formed(false),
  json: { text: { format: { type: "json_object" } } },
  user: { user: "u-1" },
  "cache key": { prompt_cache_key: "k-1" },
  "marked part": { input: [{ content: [{ text: "A book.", cache_control: {} }] }] },
  "marked message": { input: [{ content: [{ text: "A book.", cache_control: {} }] }] },
  "marked tool": { tools: [{ name: "get_weather", cache_control: {} }] },
};
