/** OpenAI's chat completions, as their vendors have them. */
import type { Script } from "../../backends/upstream.js";
import { completionForms } from "../forms/completions.js";
import { answeredBy, answerId, counted, inPieces, type Said, type Wire } from "../wire.js";

/** In what a vendor's answers differ from the others'. */
export interface Manner {
  /** What thoughts are called. Default: `reasoning_content`. */
  readonly thoughts?: string;
  /** What stands for content; default: the text. Given what is thought and said, or a piece of either. */
  content?(said: { readonly thoughts?: string; readonly text?: string }): unknown;
  /** Whether streams count only where `stream_options` ask for it. Default: they do anyway. */
  readonly askedForUsage?: boolean;
  /** Where a stream's last chunk has its counts. Default: in `usage`. */
  counts?(usage: object): object;
  /** What counts are called that are not everybody's. Default: OpenAI's details. */
  readonly usage?: object;
  /** What stands instead of a reason. */
  readonly reasons?: Readonly<Record<string, string>>;
  /** Whether calls come whole in streams. Default: in pieces. */
  readonly wholeCalls?: boolean;
  readonly untold?: Wire["untold"];
  readonly endings?: Wire["endings"];
  /** An error's body. Default: OpenAI's. */
  error?(message: string, status: number): object;
}

const usual = {
  prompt_tokens: counted.prompt,
  completion_tokens: counted.completion,
  total_tokens: counted.prompt + counted.completion,
  prompt_tokens_details: { cached_tokens: counted.cached },
  completion_tokens_details: { reasoning_tokens: counted.reasoning },
};

/** OpenAI's form of errors. */
const usualError = (message: string, status: number): object => ({
  error: { message, type: status < 500 ? "invalid_request_error" : "server_error", code: status },
});

/** A vendor of such a manner. */
export function completions(manner: Manner = {}): Wire {
  const { thoughts: named = "reasoning_content", content, askedForUsage, reasons = {} } = manner;
  const usage = manner.usage ?? usual;
  const counts = manner.counts ?? ((usage: object) => ({ usage }));
  const error = manner.error ?? usualError;
  const about = { id: answerId, created: 1762164000, model: answeredBy };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...about,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const thinks = (text: string) =>
    content ? { content: content({ thoughts: text }) } : { [named]: text };
  const says = (text: string) => ({ content: content ? content({ text }) : text });
  const reasonOf = ({ ending }: Said) => reasons[ending] ?? ending;
  const callsOf = ({ calls = [] }: Said) =>
    calls.map(({ id, name, args }, index) => ({
      ...{ index, id, type: "function" },
      function: { name, arguments: JSON.stringify(args) },
    }));

  const whole = (said: Said) => {
    const { thoughts, text = "" } = said;
    const calls = callsOf(said);
    const message = {
      role: "assistant",
      ...(content ? { content: content({ thoughts, text }) } : { content: text }),
      ...(!content && thoughts !== undefined && { [named]: thoughts }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const choices = [{ index: 0, message, finish_reason: reasonOf(said) }];
    return { ...about, object: "chat.completion", choices, usage };
  };

  const chunks = (said: Said) => {
    const calls = callsOf(said);
    const whole = calls.map((call) => chunk({ tool_calls: [call] }));
    const begun = calls.map((call) =>
      chunk({ tool_calls: [{ ...call, function: { ...call.function, arguments: "" } }] }),
    );
    // Pieces of parallel calls come by turns.
    const pieces = calls.flatMap(({ index, function: { arguments: all } }) =>
      inPieces(all).map((part, i) => ({ index, part, i })),
    );
    const going = pieces
      .toSorted((a, b) => a.i - b.i)
      .map(({ index, part }) => chunk({ tool_calls: [{ index, function: { arguments: part } }] }));
    return [
      chunk({ role: "assistant", content: "" }),
      ...inPieces(said.thoughts ?? "").map((text) => chunk(thinks(text))),
      ...inPieces(said.text ?? "").map((text) => chunk(says(text))),
      ...(manner.wholeCalls ? whole : [...begun, ...going]),
    ];
  };

  return {
    forms: completionForms,
    error,
    ...{ untold: manner.untold, endings: manner.endings },
    answers:
      (said): Script =>
      async (exchange) => {
        const { stream, stream_options } = exchange.json();
        if (!stream) return exchange.sendJson(200, whole(said));
        const told = !askedForUsage || stream_options?.include_usage === true;
        const end = { ...chunk({}, reasonOf(said)), ...(told && counts(usage)) };
        await exchange.stream(...chunks(said), end, "data: [DONE]\n\n");
        await exchange.end();
      },
    breaks:
      (message): Script =>
      async (exchange) => {
        await exchange.stream(chunk({ role: "assistant", content: "Rain" }));
        await exchange.events(usualError(message, 503));
        await exchange.end();
      },
  };
}
