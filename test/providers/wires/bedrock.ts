/** Bedrock's Converse API, whose streams are binary. */
import type { Script } from "../../backends/upstream.js";
import { bedrockForms } from "../forms/bedrock.js";
import { answerId, counted, inPieces, type Said, type Wire } from "../wire.js";
import { exception, frame } from "./eventstream.js";

const usage = {
  inputTokens: counted.prompt - counted.cached,
  cacheReadInputTokens: counted.cached,
  cacheWriteInputTokens: 0,
  outputTokens: counted.completion,
  totalTokens: counted.prompt + counted.completion,
};

const reasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  content_filter: "content_filtered",
  tool_calls: "tool_use",
};

const headers = { "x-amzn-requestid": answerId };

/** Bedrock's. Thoughts are not counted, and no model names itself. */
export function bedrock(): Wire {
  const contentOf = ({ thoughts, text, calls = [] }: Said) => [
    ...(thoughts === undefined
      ? []
      : [{ reasoningContent: { reasoningText: { text: thoughts, signature: "signed" } } }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ id, name, args }) => ({ toolUse: { toolUseId: id, name, input: args } })),
  ];
  const frames = ({ thoughts, text, calls = [] }: Said): Buffer[] => {
    let at = 0;
    const block = (start: object | undefined, deltas: readonly object[]) => {
      const contentBlockIndex = at++;
      return [
        ...(start ? [frame("contentBlockStart", { contentBlockIndex, start })] : []),
        ...deltas.map((delta) => frame("contentBlockDelta", { contentBlockIndex, delta })),
        frame("contentBlockStop", { contentBlockIndex }),
      ];
    };
    return [
      frame("messageStart", { role: "assistant" }),
      ...(thoughts === undefined
        ? []
        : block(undefined, [
            ...inPieces(thoughts).map((text) => ({ reasoningContent: { text } })),
            { reasoningContent: { signature: "signed" } },
          ])),
      ...(text === undefined
        ? []
        : block(
            undefined,
            inPieces(text).map((text) => ({ text })),
          )),
      ...calls.flatMap(({ id, name, args }) =>
        block(
          { toolUse: { toolUseId: id, name } },
          inPieces(JSON.stringify(args)).map((input) => ({ toolUse: { input } })),
        ),
      ),
    ];
  };
  return {
    forms: bedrockForms,
    untold: ["model", "reasoning"],
    endings: {
      ...{ stop_sequence: "stop", guardrail_intervened: "content_filter" },
      model_context_window_exceeded: "length",
      ...{ malformed_model_output: "upstream_failed", malformed_tool_use: "upstream_failed" },
    },
    error: (message) => ({ message }),
    answers:
      (said): Script =>
      async (exchange) => {
        const stopReason = reasons[said.ending] ?? said.ending;
        if (!exchange.request.path.endsWith("/converse-stream")) {
          const message = { role: "assistant", content: contentOf(said) };
          const whole = { output: { message }, stopReason, usage, metrics: { latencyMs: 1 } };
          return exchange.sendJson(200, whole, headers);
        }
        await exchange.head(200, {
          ...headers,
          "content-type": "application/vnd.amazon.eventstream",
        });
        const end = [
          frame("messageStop", { stopReason }),
          frame("metadata", { usage, metrics: { latencyMs: 1 } }),
        ];
        for (const piece of [...frames(said), ...end]) await exchange.chunk(piece);
        await exchange.end();
      },
    breaks:
      (message): Script =>
      async (exchange) => {
        await exchange.head(200, { "content-type": "application/vnd.amazon.eventstream" });
        for (const piece of frames({ text: "Rain", ending: "stop" }).slice(0, 2)) {
          await exchange.chunk(piece);
        }
        await exchange.chunk(exception("serviceUnavailableException", { message }));
        await exchange.end();
      },
  };
}
