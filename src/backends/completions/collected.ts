/** Whole completions of servers that may have streamed them: some proxies do, whatever was asked for. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { messageChoice } from "../../core/chat-messages.js";
import { Thoughts } from "../../core/reasoning.js";
import { joinCalls } from "../../core/tool-calls.js";
import { readCompletion } from "./completion.js";
import { EventSplitter } from "./events.js";
import { beginsAsEvents } from "./form.js";
import { CompletionStream } from "./stream.js";

/**
 * Reads a whole completion, as `readCompletion`, or collects one out of a stream's events.
 * @throws LintelError as the server reports it, or `upstream_failed`
 */
export function collectCompletion(text: string): LLMResponse {
  if (!beginsAsEvents(text)) return readCompletion(text);
  const splitter = new EventSplitter();
  const stream = new CompletionStream();
  const messages: LLMResponse[] = [];
  const events = [...splitter.push(Buffer.from(text)), ...splitter.end()];
  for (const event of events) stream.push(event, messages);
  stream.finish(messages);
  const said = messages.map(({ choices }) => choices[0]?.delta);
  const content = said.map((it) => it?.content ?? "").join("");
  const thoughts = new Thoughts();
  for (const it of said) if (it) thoughts.add(it);
  const calls = joinCalls(said.flatMap((it) => it?.toolCalls ?? []));
  const last = messages.at(-1) as LLMResponse;
  const { finishReason = "" } = last.choices[0] ?? {};
  return { ...last, choices: [messageChoice(content, finishReason, calls, thoughts.all)] };
}
