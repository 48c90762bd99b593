/** Cohere's API, in its second version. */
import type { Script } from "../../backends/upstream.js";
import { cohereForms } from "../forms/cohere.js";
import { answerId, counted, inPieces, type Said, type Wire } from "../wire.js";

const usage = {
  billed_units: { input_tokens: counted.prompt, output_tokens: counted.completion },
  tokens: { input_tokens: counted.prompt, output_tokens: counted.completion },
  cached_tokens: counted.cached,
};

const reasons: Readonly<Record<string, string>> = {
  stop: "COMPLETE",
  length: "MAX_TOKENS",
  tool_calls: "TOOL_CALL",
};

/** Cohere's. Thoughts are not counted, and no model names itself. */
export function cohere(): Wire {
  const callsOf = ({ calls = [] }: Said) =>
    calls.map(({ id, name, args }) => ({
      ...{ id, type: "function" },
      function: { name, arguments: JSON.stringify(args) },
    }));
  const whole = (said: Said) => {
    const calls = callsOf(said);
    const content = [
      ...(said.thoughts === undefined ? [] : [{ type: "thinking", thinking: said.thoughts }]),
      ...(said.text === undefined ? [] : [{ type: "text", text: said.text }]),
    ];
    return {
      id: answerId,
      message: {
        role: "assistant",
        ...(content.length > 0 && { content }),
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      ...{ finish_reason: reasons[said.ending] ?? said.ending, usage },
    };
  };
  const begin = {
    ...{ id: answerId, type: "message-start" },
    delta: { message: { role: "assistant", content: [], tool_plan: "", tool_calls: [] } },
  };
  const events = (said: Said) => {
    let index = 0;
    const block = (type: "text" | "thinking", all = "") => {
      if (all === "") return [];
      const at = { index: index++ };
      const about = (content: object) => ({ ...at, delta: { message: { content } } });
      return [
        { type: "content-start", ...about({ type, [type]: "" }) },
        ...inPieces(all).map((part) => ({ type: "content-delta", ...about({ [type]: part }) })),
        { type: "content-end", ...at },
      ];
    };
    const ofCalls = callsOf(said).flatMap((call) => {
      const { arguments: all } = call.function;
      const begun = { ...call, function: { ...call.function, arguments: "" } };
      const about = (tool_calls: object) => ({ index, delta: { message: { tool_calls } } });
      return [
        { type: "tool-call-start", ...about(begun) },
        ...inPieces(all).map((part) => ({
          ...{ type: "tool-call-delta", ...about({ function: { arguments: part } }) },
        })),
        { type: "tool-call-end", index: index++ },
      ];
    });
    return [begin, ...block("thinking", said.thoughts), ...block("text", said.text), ...ofCalls];
  };
  return {
    forms: cohereForms,
    untold: ["model", "reasoning", "content_filter"],
    endings: { STOP_SEQUENCE: "stop", ERROR: "upstream_failed", TIMEOUT: "upstream_failed" },
    error: (message) => ({ id: "error-1", message }),
    answers:
      (said): Script =>
      async (exchange) => {
        if (!exchange.json().stream) return exchange.sendJson(200, whole(said));
        const end = {
          type: "message-end",
          delta: { finish_reason: reasons[said.ending] ?? said.ending, usage },
        };
        await exchange.stream(
          ...[...events(said), end].map(
            (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
          ),
        );
        await exchange.end();
      },
  };
}
