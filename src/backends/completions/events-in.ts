/** The events of an answer that is read as it comes. */
import { parseJson } from "../../core/json.js";
import type { Answer } from "../http/answer.js";
import { isStream } from "../http/ask.js";
import { nonsense } from "../http/failure.js";
import { EventSplitter, type ServerEvent } from "./events.js";

/** How much is told of an answer that is no stream, bytes. */
export const startLimit = 300;

/**
 * Reads an answer's events, which carry JSON; one that is cut off by the answer's end is none.
 * @param limit most bytes of one event
 * @throws LintelError as `Answer.read`; `upstream_failed` for an event that is too large, and for
 *   an answer that is no stream, a page for example
 */
export async function* eventsIn(answer: Answer, limit: number): AsyncGenerator<ServerEvent> {
  const splitter = new EventSplitter(limit);
  let start = "";
  let heard = isStream(answer);
  for (;;) {
    const bytes = await answer.read();
    const events = bytes ? splitter.push(...bytes) : splitter.end();
    if (events.length > 0) heard = true;
    else if (start === "") start = bytes?.[0]?.toString("utf8", 0, startLimit) ?? "";
    for (const event of events) {
      if (bytes || parseJson(event.data) !== undefined) yield event;
    }
    if (bytes) continue;
    if (!heard && start !== "") throw nonsense("answered with no stream", new Error(start));
    return;
  }
}
