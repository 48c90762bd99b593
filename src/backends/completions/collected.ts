/** Whole completions of servers that may have streamed them: some proxies do, whatever was asked for. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { Gathered } from "../../core/gathered.js";
import type { MarkedThoughts } from "../marked-thoughts.js";
import { readCompletion } from "./completion.js";
import { EventSplitter } from "./events.js";
import { beginsAsEvents } from "./form.js";
import { CompletionStream } from "./stream.js";
import { untagged } from "./tagged.js";

/**
 * Reads a whole completion, as `readCompletion`, or collects one out of a stream's events.
 * @param tagged finds thoughts in its text; absent: all text is said
 * @throws LintelError as the server reports it, or `upstream_failed`
 */
export function collectCompletion(text: string, tagged?: MarkedThoughts): LLMResponse {
  if (!beginsAsEvents(text)) return untagged(readCompletion(text), tagged);
  const splitter = new EventSplitter();
  const stream = new CompletionStream(tagged);
  const messages: LLMResponse[] = [];
  const gathered = new Gathered();
  const events = [...splitter.push(Buffer.from(text)), ...splitter.end()];
  // At once: a message takes ten times the memory of its event.
  const gather = () => {
    for (const message of messages.splice(0)) gathered.add(message);
  };
  for (const event of events) {
    stream.push(event, messages);
    gather();
  }
  stream.finish(messages);
  gather();
  // A stream that did not say why it ended has thrown.
  return gathered.whole as LLMResponse;
}
