/** What requests say, as OpenAI's chat completions have it. */
import { address, pdf, png, schema } from "../asked.js";
import type { Form, Forms } from "../wire.js";

/** A message of the user with a part behind its text. */
const shown = (part: Form) => ({
  messages: [{ role: "user", content: [{ type: "text", text: "This?" }, part] }],
});

const tool = (name: string, more: object = {}) => ({
  type: "function",
  function: { name, description: `Tells ${name}.`, parameters: schema, ...more },
});

const tools = [tool("get_weather"), tool("get_time")];

const formed = (strict: boolean) => ({
  response_format: {
    type: "json_schema",
    json_schema: { name: "place", description: "A place", schema, strict },
  },
});

const text = (words: string) => ({ type: "text", text: words });
const marked = { cache_control: { type: "ephemeral" } };

/** OpenAI's. */
export const completionForms: Forms = {
  temperature: { temperature: 0.25 },
  top_p: { top_p: 0.75 },
  top_k: { top_k: 17 },
  seed: { seed: 4242 },
  stop: { stop: ["HALT", "END"] },
  frequency_penalty: { frequency_penalty: 0.375 },
  presence_penalty: { presence_penalty: 0.625 },
  repetition_penalty: { repetition_penalty: 1.25 },
  min_p: { min_p: 0.125 },
  logit_bias: { logit_bias: { 1717: -2.5 } },
  verbosity: { verbosity: "low" },
  service_tier: { service_tier: "flex" },
  logprobs: { logprobs: true, top_logprobs: 2 },
  max_tokens: { max_tokens: 3210 },
  conversation: {
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "How is the weather?" },
      {
        ...{ role: "assistant", content: "Let me see." },
        tool_calls: [
          {
            ...{ id: "call_0001", type: "function" },
            function: { name: "get_weather", arguments: '{"city":"Rome"}' },
          },
        ],
      },
      { role: "tool", tool_call_id: "call_0001", content: "It rains." },
      { role: "assistant", content: "Rain." },
      { role: "user", content: "Sure?" },
    ],
  },
  thoughts: {
    messages: [{ role: "assistant", reasoning_content: "It looks wet." }],
  },
  image: shown({ type: "image_url", image_url: { url: png } }),
  "image's detail": shown({ type: "image_url", image_url: { url: png, detail: "low" } }),
  "image's address": shown({ type: "image_url", image_url: { url: address } }),
  file: shown({ type: "file", file: { filename: "a.pdf", file_data: pdf } }),
  sound: shown({ type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }),
  "image of a tool": {
    messages: [
      { role: "tool", tool_call_id: "call_0001", content: "It looks so:" },
      { role: "user", content: [{ type: "image_url", image_url: { url: png } }] },
    ],
  },
  tools: { tools },
  "strict tool": { tools: [tool("get_weather", { strict: true }), tool("get_time")] },
  "lax tool": { tools: [tool("get_weather", { strict: false })] },
  "named tool": { tools, tool_choice: { type: "function", function: { name: "get_time" } } },
  "some tool": { tools, tool_choice: "required" },
  "no tool": { tools, tool_choice: "none" },
  "one call": { tools, parallel_tool_calls: false },
  schema: formed(true),
  "lax schema": formed(false),
  json: { response_format: { type: "json_object" } },
  user: { user: "u-1" },
  "cache key": { prompt_cache_key: "k-1" },
  "marked part": {
    messages: [{ role: "user", content: [{ ...text("A book."), ...marked }, text("Sum it up.")] }],
  },
  "marked message": {
    messages: [
      {
        role: "system",
        content: [{ ...text("A book."), cache_control: { type: "ephemeral", ttl: "1h" } }],
      },
    ],
  },
  "marked tool": { tools: [{ ...tool("get_weather"), ...marked }] },
};
