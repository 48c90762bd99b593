/** Errors that stand beside the events of a stream: providers read past them. */
import { parseJson } from "../../core/json.js";
import { EventSplitter, type ServerEvent } from "../completions/events.js";
import { soleObject } from "../http/error-body.js";

/** Where JSON without a field begins, or the field that llama.cpp once had. Hardly a stream has either. */
const stray = /[\r\n](?:[ \t]*[[{]|error:)/;

/** Looks for such an error in a stream's bytes, as they come. */
export class StrayErrors {
  /** There from the first stray line on: only then is the stream read twice. */
  #splitter: EventSplitter | undefined;

  /**
   * Takes the next bytes.
   * @param text the same, one letter for each byte, behind some of what came before
   * @returns the event that says what providers don't see; absent: there is none so far
   */
  push(bytes: Buffer, text: string): string | undefined {
    if (this.#splitter) return eventFor(this.#splitter.push(bytes));
    const found = stray.exec(text);
    if (!found) return undefined;
    this.#splitter = new EventSplitter();
    return eventFor(this.#splitter.push(Buffer.from(text.slice(found.index + 1), "latin1")));
  }

  /** The stream is at its end: as `push`. */
  end(): string | undefined {
    return this.#splitter && eventFor(this.#splitter.end());
  }
}

function eventFor(events: readonly ServerEvent[]): string | undefined {
  const event = events.find(({ failed }) => failed);
  if (!event) return undefined;
  const value = parseJson(event.data) ?? event.data;
  const told = soleObject(value)?.error ? value : { error: value };
  return `\n\ndata: ${JSON.stringify(told)}\n\n`;
}
