/** What requests say, as Google's generateContent has it. */
import { address, schema as asked } from "../asked.js";
import { since7 } from "../installed.js";
import type { Form, Forms } from "../wire.js";

const shown = (part: Form) => ({ contents: [{ role: "user", parts: [{ text: "This?" }, part] }] });

/** Before AI SDK 7 its schemas are a part of OpenAPI's, which has no `additionalProperties`. */
const { additionalProperties: _, ...ofOpenApi } = asked;
const inOpenApi = (name: string, since: string): Form =>
  since7<Form>({ [name]: ofOpenApi }, { [since]: asked });

const tool = (name: string): Form => ({
  ...{ name, description: `Tells ${name}.` },
  ...(inOpenApi("parameters", "parametersJsonSchema") as object),
});
const tools = [{ functionDeclarations: [tool("get_weather"), tool("get_time")] }];
const called = (more: object) => ({ tools, toolConfig: { functionCallingConfig: more } as Form });
const tuned = (more: Form): Form => ({ generationConfig: more });
const png = { mimeType: "image/png", data: "iVBORw0KGgo=" };
const formed = tuned({
  responseMimeType: "application/json",
  ...(inOpenApi("responseSchema", "responseJsonSchema") as object),
});

/** Google's. */
export const googleForms: Forms = {
  temperature: tuned({ temperature: 0.25 }),
  top_p: tuned({ topP: 0.75 }),
  top_k: tuned({ topK: 17 }),
  seed: tuned({ seed: 4242 }),
  stop: tuned({ stopSequences: ["HALT", "END"] }),
  frequency_penalty: tuned({ frequencyPenalty: 0.375 }),
  presence_penalty: tuned({ presencePenalty: 0.625 }),
  repetition_penalty: tuned({ repetitionPenalty: 1.25 }),
  min_p: tuned({ minP: 0.125 }),
  logit_bias: tuned({ logitBias: { 1717: -2.5 } }),
  verbosity: tuned({ verbosity: "low" }),
  service_tier: { serviceTier: "flex" },
  logprobs: {},
  max_tokens: tuned({ maxOutputTokens: 3210 }),
  conversation: {
    systemInstruction: { parts: [{ text: "Be brief." }] },
    contents: [
      { role: "user", parts: [{ text: "How is the weather?" }] },
      {
        role: "model",
        parts: [
          { text: "Let me see." },
          { functionCall: { name: "get_weather", args: { city: "Rome" } } },
        ],
      },
      {
        role: "user",
        parts: [
          {
            functionResponse: {
              name: "get_weather",
              response: { name: "get_weather", content: "It rains." },
            },
          },
        ],
      },
      { role: "model", parts: [{ text: "Rain." }] },
      { role: "user", parts: [{ text: "Sure?" }] },
    ],
  },
  thoughts: { contents: [{ role: "model", parts: [{ text: "It looks wet.", thought: true }] }] },
  image: shown({ inlineData: png }),
  "image's detail": shown({ inlineData: png, mediaResolution: { level: "MEDIA_RESOLUTION_LOW" } }),
  "image's address": shown({ fileData: { fileUri: address } }),
  file: shown({ inlineData: { mimeType: "application/pdf", data: "JVBERi0=" } }),
  sound: shown({ inlineData: { mimeType: "audio/wav", data: "UklGRg==" } }),
  "image of a tool": {
    contents: [
      { role: "user", parts: [{ functionResponse: { response: { content: "It looks so:" } } }] },
      { role: "user", parts: [{ inlineData: png }] },
    ],
  },
  tools: { tools },
  "strict tool": { toolConfig: { functionCallingConfig: { mode: "VALIDATED" } } },
  "lax tool": { tools: [{ functionDeclarations: [tool("get_weather")] }] },
  "named tool": called({ mode: "ANY", allowedFunctionNames: ["get_time"] }),
  "some tool": called({ mode: "ANY" }),
  "no tool": called({ mode: "NONE" }),
  "one call": { parallelToolCalls: false },
  schema: formed,
  "lax schema": formed,
  json: tuned({ responseMimeType: "application/json" }),
  user: { user: "u-1" },
  "cache key": { promptCacheKey: "k-1" },
  "marked part": { cachedContent: "" },
  "marked message": { cachedContent: "" },
  "marked tool": { cachedContent: "" },
};
