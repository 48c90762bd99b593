/** Google's Gemini API as a way in. */
import { type ErrorCode, errorTable } from "../../src/core/error-table.js";
import { generateEvents, partsOf, textOf } from "../doors/generate-events.js";
import type { Case, ChatOutcome, Failure } from "./cases.js";
import { type Json, post, warningOf } from "./wire.js";

type Chat = (base: string, row: Case<ChatOutcome>) => Promise<ChatOutcome>;

const config: Readonly<Record<string, string>> = {
  ...{ temperature: "temperature", max_tokens: "maxOutputTokens", top_p: "topP", top_k: "topK" },
  ...{ seed: "seed", stop: "stopSequences", presence_penalty: "presencePenalty" },
  ...{ frequency_penalty: "frequencyPenalty", logprobs: "responseLogprobs" },
  top_logprobs: "logprobs",
};

/** What it calls the contract's fields. */
const names: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(config).map(([ours, theirs]) => [ours, `generationConfig.${theirs}`]),
  ),
  ...{ messages: "contents", reasoning_effort: "generationConfig.thinkingConfig.thinkingLevel" },
};

/** The path and the body of a request. */
function asRequest(request: Json, stream: boolean): [path: string, body: object] {
  const {
    messages,
    model = "",
    reasoning_effort: thinkingLevel,
    include_reasoning,
    ...more
  } = request;
  const isSystem = ({ role }: Json) => role === "system";
  const [system] = Array.isArray(messages) ? messages.filter(isSystem) : [];
  const said = Array.isArray(messages) ? messages.filter((it) => !isSystem(it)) : messages;
  const contents = Array.isArray(said)
    ? said.map(({ role, content }: Json) => ({
        role: role === "assistant" ? "model" : role,
        parts: [{ text: content }],
      }))
    : said;
  const generationConfig = {
    ...Object.fromEntries(
      Object.entries(more).map(([name, value]) => [config[name] ?? name, value]),
    ),
    thinkingConfig: {
      includeThoughts: include_reasoning ?? true,
      ...(thinkingLevel && { thinkingLevel }),
    },
  };
  const method = stream ? "streamGenerateContent?alt=sse" : "generateContent";
  return [
    `/v1beta/models/${model}:${method}`,
    {
      contents,
      generationConfig,
      ...(system && { systemInstruction: { parts: [{ text: system.content }] } }),
    },
  ];
}

const reasons: Readonly<Record<string, string>> = { STOP: "stop", MAX_TOKENS: "length" };

const outcome = (last: Json, parts: readonly Json[]): ChatOutcome => ({
  ...{ text: textOf(parts), thoughts: textOf(parts, true), model: last.modelVersion },
  finishReason: reasons[last.candidates[0].finishReason] as string,
  stopSequence: "",
  totalTokens: last.usageMetadata.totalTokenCount,
  warning: warningOf(last.warnings, ours) as string,
});

/** The contract's names of fields. */
const ours = (field: string) =>
  Object.keys(names).find((name) => names[name] === field) ??
  field.replace(/^contents(?=\[)/, "messages");

/** An answer in its own JSON. */
export const chatOverGenerate: Chat = async (base, { request, token }) => {
  const response = await post(base, ...asRequest(request, false), token);
  const json: Json = await response.json();
  return response.ok ? outcome(json, partsOf(json)) : failed(json, response);
};

/** The same in events. */
export const chatOverGenerateEvents: Chat = async (base, { request, token }) => {
  const response = await post(base, ...asRequest(request, true), token);
  if (!response.ok) return failed(await response.json(), response);
  const events = await generateEvents(response);
  const last = events.at(-1);
  const parts = partsOf(...events);
  return last.error ? { text: textOf(parts), ...failed(last) } : outcome(last, parts);
};

/** A failure with the contract's names of fields: the status, and its details, must say the same. */
function failed({ error }: Json, response?: Response): { error: Failure } {
  const detail = (type: string) =>
    error.details.find((it: Json) => it["@type"] === `type.googleapis.com/google.rpc.${type}`);
  const { reason, metadata } = detail("ErrorInfo");
  const { http } = errorTable[reason as ErrorCode];
  if (error.code !== http || (response && response.status !== http)) {
    throw new Error(`status ${error.code} for ${reason}`);
  }
  if (response && detail("RequestInfo").requestId !== response.headers.get("x-request-id")) {
    throw new Error("another request's id");
  }
  if (/\d+\.\d+\.\d+\.\d+|secret| at .*:\d+/.test(JSON.stringify(error))) {
    throw new Error(`tells too much: ${JSON.stringify(error)}`);
  }
  const listed = detail("BadRequest")?.fieldViolations.map(({ field }: Json) => field);
  const fields = listed ?? (metadata.param ? [metadata.param] : undefined);
  const delay = detail("RetryInfo")?.retryDelay;
  const after = response?.headers.get("retry-after");
  if (response && (delay ?? null) !== (after ? `${after}s` : null)) throw new Error("two delays");
  return {
    error: {
      code: reason,
      ...(fields && { fields: fields.map(ours) }),
      ...(after && { retryAfter: Number(after) }),
    },
  };
}
