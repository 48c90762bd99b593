/** All that a request can say, each in a request of its own, with values that are nothing's defaults. */

/** A request that says something, besides what all say. */
export interface Asked {
  /** What warnings and errors call it. */
  readonly field: string;
  readonly request: Readonly<Record<string, unknown>>;
  /** Fields of the backend's entry. */
  readonly config?: object;
}

/** An image and a file, inline, and the address of one. */
export const png = "data:image/png;base64,iVBORw0KGgo=";
export const pdf = "data:application/pdf;base64,JVBERi0=";
export const address = "https://example.com/a.png";

const user = (...parts: readonly object[]) => ({
  messages: [{ role: "user", content: "", parts: [{ type: "text", text: "This?" }, ...parts] }],
});

const image = (url: string, detail = "") => ({ type: "image_url", imageUrl: { url, detail } });

/** A schema to which all vendors can keep strictly. */
export const schema = {
  type: "object",
  properties: { city: { type: "string", description: "A city" } },
  required: ["city"],
  additionalProperties: false,
};

const tool = (name: string, more: object = {}) => ({
  function: { name, description: `Tells ${name}.`, parameters: JSON.stringify(schema), ...more },
});

const tools = [tool("get_weather"), tool("get_time")];
const formed = (strict: boolean) => ({
  responseFormat: {
    type: "json_schema",
    jsonSchema: { name: "place", description: "A place", schema: JSON.stringify(schema), strict },
  },
});

const call = { id: "call_0001", function: { name: "get_weather", arguments: '{"city":"Rome"}' } };

/** What was said before: thoughts, words and a call, its result, an answer, and one more question. */
const conversation = {
  tools,
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "How is the weather?" },
    { role: "assistant", content: "Let me see.", toolCalls: [call] },
    { role: "tool", toolCallId: "call_0001", content: "It rains." },
    { role: "assistant", content: "Rain." },
    { role: "user", content: "Sure?" },
  ],
};

/** What is thought on the way to an answer: of those before most vendors want to see nothing. */
const thoughts = {
  tools,
  messages: [
    { role: "user", content: "How is the weather?" },
    { role: "assistant", content: "", reasoningContent: "It looks wet.", toolCalls: [call] },
    { role: "tool", toolCallId: "call_0001", content: "It rains." },
  ],
};

/** A tool that shows what it tells. */
const shownByTool = {
  tools,
  messages: [
    { role: "user", content: "How is the weather?" },
    { role: "assistant", content: "", toolCalls: [call] },
    {
      ...{ role: "tool", toolCallId: "call_0001", content: "" },
      parts: [{ type: "text", text: "It looks so:" }, image(png)],
    },
  ],
};

const mark = { type: "ephemeral" };

/** The words for how much is thought. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** By a name for each. */
export const asked = {
  temperature: { field: "temperature", request: { temperature: 0.25 } },
  top_p: { field: "top_p", request: { topP: 0.75 } },
  top_k: { field: "top_k", request: { topK: 17 } },
  seed: { field: "seed", request: { seed: 4242n } },
  stop: { field: "stop", request: { stop: ["HALT", "END"] } },
  frequency_penalty: { field: "frequency_penalty", request: { frequencyPenalty: 0.375 } },
  presence_penalty: { field: "presence_penalty", request: { presencePenalty: 0.625 } },
  repetition_penalty: { field: "repetition_penalty", request: { repetitionPenalty: 1.25 } },
  min_p: { field: "min_p", request: { minP: 0.125 } },
  logit_bias: { field: "logit_bias", request: { logitBias: { 1717: -2.5 } } },
  verbosity: { field: "verbosity", request: { verbosity: "low" } },
  service_tier: { field: "service_tier", request: { serviceTier: "flex" } },
  logprobs: { field: "logprobs", request: { logprobs: true, topLogprobs: 2 } },
  max_tokens: { field: "max_tokens", request: { maxTokens: 3210 } },
  conversation: { field: "messages", request: conversation },
  thoughts: { field: "reasoning_content", request: thoughts },
  image: { field: "image_url", request: user(image(png)) },
  "image's detail": { field: "image_url.detail", request: user(image(png, "low")) },
  "image's address": { field: "image_url", request: user(image(address)) },
  file: {
    field: "file",
    request: user({ type: "file", file: { fileData: pdf, filename: "a.pdf" } }),
  },
  "image of a tool": { field: "messages", request: shownByTool },
  sound: {
    field: "input_audio",
    request: user({ type: "input_audio", inputAudio: { data: "UklGRg==", format: "wav" } }),
  },
  tools: { field: "tools", request: { tools } },
  "strict tool": {
    field: "strict",
    request: { tools: [tool("get_weather", { strict: true }), tool("get_time")] },
  },
  "lax tool": { field: "strict", request: { tools: [tool("get_weather", { strict: false })] } },
  "named tool": {
    field: "tool_choice",
    request: { tools, toolChoice: { type: "function", function: { name: "get_time" } } },
  },
  "some tool": { field: "tool_choice", request: { tools, toolChoice: { type: "required" } } },
  "no tool": { field: "tool_choice", request: { tools, toolChoice: { type: "none" } } },
  "one call": { field: "parallel_tool_calls", request: { tools, parallelToolCalls: false } },
  schema: { field: "response_format", request: formed(true) },
  "lax schema": { field: "response_format", request: formed(false) },
  json: { field: "response_format", request: { responseFormat: { type: "json_object" } } },
  user: { field: "user", request: { user: "u-1" }, config: { pass_user: "plain" } },
  "cache key": { field: "prompt_cache_key", request: { promptCacheKey: "k-1" } },
  "marked part": {
    field: "cache_control",
    request: {
      messages: [
        {
          role: "user",
          content: "",
          parts: [
            { type: "text", text: "A book.", cacheControl: mark },
            { type: "text", text: "Sum it up." },
          ],
        },
      ],
    },
  },
  "marked message": {
    field: "cache_control",
    request: {
      messages: [
        { role: "system", content: "A book.", cacheControl: { ...mark, ttl: "1h" } },
        { role: "user", content: "Sum it up." },
      ],
    },
  },
  "marked tool": {
    field: "cache_control",
    request: { tools: [{ ...tool("get_weather"), cacheControl: mark }] },
  },
} as const satisfies Readonly<Record<string, Asked>>;

/** A name of such a request. */
export type Name = keyof typeof asked;
