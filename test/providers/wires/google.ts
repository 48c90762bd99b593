/** Google's generateContent, of the Gemini API and of Vertex AI. */
import type { Script } from "../../backends/upstream.js";
import { googleForms } from "../forms/google.js";
import { answeredBy, answerId, counted, inPieces, type Said, type Wire } from "../wire.js";

const usageMetadata = {
  promptTokenCount: counted.prompt,
  cachedContentTokenCount: counted.cached,
  candidatesTokenCount: counted.completion - counted.reasoning,
  thoughtsTokenCount: counted.reasoning,
  totalTokenCount: counted.prompt + counted.completion,
};

const reasons: Readonly<Record<string, string>> = {
  stop: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
  tool_calls: "STOP",
};

const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
};

const errorOf = (message: string, code: number) => ({
  error: { code, message, status: statuses[code] ?? "INTERNAL" },
});

/** Google's. Calls come whole, and have no ids of their vendor's. */
export function google(): Wire {
  const partsOf = (
    { thoughts, text, calls = [] }: Said,
    split = (text: string) => [text] as readonly string[],
  ) => [
    ...(thoughts === undefined ? [] : split(thoughts).map((text) => ({ text, thought: true }))),
    ...(text === undefined ? [] : split(text).map((text) => ({ text }))),
    ...calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } })),
  ];
  const answer = (parts: readonly object[], finishReason?: string) => ({
    candidates: [{ index: 0, content: { role: "model", parts }, finishReason }],
    ...{ usageMetadata, modelVersion: answeredBy, responseId: answerId },
  });
  return {
    forms: googleForms,
    error: errorOf,
    endings: {
      ...{
        RECITATION: "content_filter",
        PROHIBITED_CONTENT: "content_filter",
        SPII: "content_filter",
      },
      ...{ BLOCKLIST: "content_filter", LANGUAGE: "stop", OTHER: "stop" },
      MALFORMED_FUNCTION_CALL: "upstream_failed",
    },
    answers:
      (said): Script =>
      async (exchange) => {
        const reason = reasons[said.ending] ?? said.ending;
        if (!exchange.request.path.includes("streamGenerateContent")) {
          return exchange.sendJson(200, answer(partsOf(said), reason));
        }
        const parts = partsOf(said, inPieces);
        await exchange.stream(...parts.map((part) => answer([part])), answer([], reason));
        await exchange.end();
      },
    breaks:
      (message): Script =>
      async (exchange) => {
        await exchange.stream(answer([{ text: "Rain" }]), errorOf(message, 503));
        await exchange.end();
      },
  };
}
