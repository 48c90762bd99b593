/** OpenAI's Responses API, and what others made of it. */
import type { Script } from "../../backends/upstream.js";
import { responseForms } from "../forms/responses.js";
import { answeredBy, answerId, counted, inPieces, type Said, type Wire } from "../wire.js";

/** In what a vendor's answers differ from OpenAI's. */
export interface Manner {
  /** Whether thoughts are texts of their own, not summaries of what is encrypted. Default: no. */
  readonly open?: boolean;
  /** An error's body. Default: OpenAI's. */
  error?(message: string, status: number): object;
}

interface Item {
  readonly type: string;
  readonly id: string;
  readonly [name: string]: unknown;
}

const usage = {
  input_tokens: counted.prompt,
  input_tokens_details: { cached_tokens: counted.cached },
  output_tokens: counted.completion,
  output_tokens_details: { reasoning_tokens: counted.reasoning },
  total_tokens: counted.prompt + counted.completion,
};

const incomplete: Readonly<Record<string, string>> = {
  length: "max_output_tokens",
  content_filter: "content_filter",
};

/** A vendor of such a manner. */
export function responses({ open = false, error }: Manner = {}): Wire {
  const itemsOf = ({ thoughts, text, calls = [] }: Said): Item[] => [
    ...(thoughts === undefined
      ? []
      : [
          {
            ...{ type: "reasoning", id: "rs_1", status: "completed" },
            ...(open
              ? { summary: [], content: [{ type: "reasoning_text", text: thoughts }] }
              : {
                  summary: [{ type: "summary_text", text: thoughts }],
                  encrypted_content: "encrypted",
                }),
          },
        ]),
    ...(text === undefined
      ? []
      : [
          {
            ...{ type: "message", id: "msg_1", role: "assistant", status: "completed" },
            content: [{ type: "output_text", text, annotations: [] }],
          },
        ]),
    ...calls.map(({ id, name, args }, i) => ({
      ...{ type: "function_call", id: `fc_${i}`, call_id: id, name, status: "completed" },
      arguments: JSON.stringify(args),
    })),
  ];
  const eventsOf = (item: Item, output_index: number): object[] => {
    const about = { item_id: item.id, output_index };
    const frame = (begun: object, ...going: object[]) => [
      { type: "response.output_item.added", output_index, item: { ...item, ...begun } },
      ...going,
      { type: "response.output_item.done", output_index, item },
    ];
    if (item.type === "function_call") {
      const all = item.arguments as string;
      return frame(
        { arguments: "", status: "in_progress" },
        ...inPieces(all).map((delta) => ({
          ...{ type: "response.function_call_arguments.delta", ...about, delta },
        })),
        { type: "response.function_call_arguments.done", ...about, arguments: all },
      );
    }
    const [part] = (open || item.type === "message" ? item.content : item.summary) as {
      text: string;
    }[];
    const text = part?.text ?? "";
    const at = { ...about, content_index: 0 };
    if (item.type === "message") {
      return frame(
        { content: [], status: "in_progress" },
        { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
        ...inPieces(text).map((delta) => ({ type: "response.output_text.delta", ...at, delta })),
        { type: "response.output_text.done", ...at, text },
      );
    }
    if (open) {
      return frame(
        { content: [] },
        ...inPieces(text).map((delta) => ({ type: "response.reasoning_text.delta", ...at, delta })),
        { type: "response.reasoning_text.done", ...at, text },
      );
    }
    const which = { ...about, summary_index: 0 };
    return frame(
      { summary: [], encrypted_content: "not yet" },
      {
        ...{ type: "response.reasoning_summary_part.added", ...which },
        part: { type: "summary_text", text: "" },
      },
      ...inPieces(text).map((delta) => ({
        ...{ type: "response.reasoning_summary_text.delta", ...which, delta },
      })),
      { type: "response.reasoning_summary_text.done", ...which, text },
      { type: "response.reasoning_summary_part.done", ...which, part },
    );
  };
  const about = { id: answerId, object: "response", created_at: 1762164000, model: answeredBy };
  const echoed = {
    ...{ instructions: null, max_output_tokens: null, metadata: {}, parallel_tool_calls: true },
    ...{ temperature: 1, tool_choice: "auto", tools: [], top_p: 1 },
  };
  const wholeOf = (said: Said) => {
    const reason = incomplete[said.ending];
    return {
      ...about,
      ...echoed,
      status: reason ? "incomplete" : "completed",
      incomplete_details: reason ? { reason } : null,
      ...{ error: null, output: itemsOf(said), usage },
    };
  };
  const begun = { ...about, ...echoed, status: "in_progress", output: [], usage: null };
  const usual = (message: string, status: number) => ({
    error: {
      ...{ message, param: null, code: null },
      type: status < 500 ? "invalid_request_error" : "server_error",
    },
  });
  const streamed = (events: readonly object[]) =>
    events.map((event, sequence_number) => {
      const numbered = { ...event, sequence_number } as { type?: string };
      return `event: ${numbered.type}\ndata: ${JSON.stringify(numbered)}\n\n`;
    });

  return {
    forms: responseForms,
    error: error ?? usual,
    answers:
      (said): Script =>
      async (exchange) => {
        const whole = wholeOf(said);
        if (!exchange.json().stream) return exchange.sendJson(200, whole);
        const type = whole.status === "incomplete" ? "incomplete" : "completed";
        const events = [
          { type: "response.created", response: begun },
          ...whole.output.flatMap(eventsOf),
          { type: `response.${type}`, response: whole },
        ];
        await exchange.stream(...streamed(events));
        await exchange.end();
      },
    breaks:
      (message): Script =>
      async (exchange) => {
        const failure = { code: "server_is_overloaded", message };
        const failed = { ...begun, status: "failed", error: failure };
        const [first = {}, ...rest] = eventsOf(
          itemsOf({ text: "Rain", ending: "stop" })[0] as Item,
          0,
        );
        await exchange.stream(
          ...streamed([
            { type: "response.created", response: begun },
            first,
            ...rest.slice(0, 2),
            { type: "response.failed", response: failed },
          ]),
        );
        await exchange.end();
      },
  };
}
