/** Whole completions of servers that may have streamed them: some proxies do, whatever was asked for. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { Gathered } from "../../core/gathered.js";
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
  const gathered = new Gathered();
  for (const message of messages) gathered.add(message);
  // A stream that did not say why it ended has thrown.
  return gathered.whole as LLMResponse;
}
