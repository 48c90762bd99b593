/** Anthropic's Messages API, as Anthropic, Vertex AI and Bedrock have it. */
import type { Exchange, Script } from "../../backends/upstream.js";
import { anthropicForms } from "../forms/anthropic.js";
import { answeredBy, answerId, counted, inPieces, type Said, type Wire } from "../wire.js";
import { frame } from "./eventstream.js";

const usage = {
  input_tokens: counted.prompt - counted.cached,
  cache_read_input_tokens: counted.cached,
  cache_creation_input_tokens: 0,
  output_tokens: counted.completion,
  output_tokens_details: { thinking_tokens: counted.reasoning },
};

const reasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  content_filter: "refusal",
  tool_calls: "tool_use",
};

const errorOf = (message: string, status: number) => ({
  type: "error",
  error: { type: types[status] ?? "api_error", message },
});

const types: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

interface Block {
  readonly type: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: object;
}

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Events as the API itself sends them. */
async function asEvents(exchange: Exchange, events: readonly Event[]): Promise<void> {
  await exchange.stream(
    ...events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  );
  await exchange.end();
}

/** Events in the frames of AWS. */
async function asFrames(exchange: Exchange, events: readonly Event[]): Promise<void> {
  await exchange.head(200, { "content-type": "application/vnd.amazon.eventstream" });
  for (const event of events) {
    const bytes = Buffer.from(JSON.stringify(event)).toString("base64");
    await exchange.chunk(frame("chunk", { bytes }));
  }
  await exchange.end();
}

/** @param framed whether streams are in the frames of AWS, where the address says whether one is asked for */
export function anthropic(framed = false): Wire {
  const about = { id: answerId, type: "message", role: "assistant", model: answeredBy };
  const message = { ...about, content: [], stop_reason: null, stop_sequence: null, usage };
  const contentOf = ({ thoughts, text, calls = [] }: Said): Block[] => [
    ...(thoughts === undefined
      ? []
      : [{ type: "thinking", thinking: thoughts, signature: "signed" }]),
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args })),
  ];
  const blockEvents = (block: Block, index: number): Event[] => {
    const going = (deltas: readonly object[], begin: object): Event[] => [
      { type: "content_block_start", index, content_block: { ...block, ...begin } },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
    if (block.thinking !== undefined) {
      const { thinking, signature } = block;
      const deltas = inPieces(thinking).map((part) => ({ type: "thinking_delta", thinking: part }));
      return going([...deltas, { type: "signature_delta", signature }], {
        ...{ thinking: "", signature: "" },
      });
    }
    if (block.text !== undefined) {
      const deltas = inPieces(block.text).map((text) => ({ type: "text_delta", text }));
      return going(deltas, { text: "" });
    }
    const parts = inPieces(JSON.stringify(block.input));
    const deltas = parts.map((partial_json) => ({ type: "input_json_delta", partial_json }));
    return going(deltas, { input: {} });
  };
  const streams = ({ request }: Exchange, body: { stream?: boolean }) =>
    framed ? request.path.includes("-stream") : body.stream;
  const send = framed ? asFrames : asEvents;

  return {
    forms: anthropicForms,
    error: errorOf,
    endings: { stop_sequence: "stop", model_context_window_exceeded: "length", pause_turn: "stop" },
    answers:
      (said): Script =>
      async (exchange) => {
        const content = contentOf(said);
        const stop_reason = reasons[said.ending] ?? said.ending;
        if (!streams(exchange, exchange.json())) {
          return exchange.sendJson(200, { ...message, content, stop_reason });
        }
        await send(exchange, [
          { type: "message_start", message: { ...message, usage: { ...usage, output_tokens: 1 } } },
          ...content.flatMap(blockEvents),
          { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
          { type: "message_stop" },
        ]);
      },
    breaks:
      (said): Script =>
      async (exchange) => {
        await send(exchange, [
          { type: "message_start", message },
          ...blockEvents({ type: "text", text: "Rain" }, 0).slice(0, 2),
          errorOf(said, 529),
        ]);
      },
  };
}
