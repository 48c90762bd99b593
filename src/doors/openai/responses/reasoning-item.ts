/** What the model thinks, as an item of an answer, while it comes. */
import { toJsonString } from "../../../core/json-string.js";
import { type Reasoning, Thoughts } from "../../../core/reasoning.js";
import type { EventSink } from "../../json/sse.js";
import { TextEvents } from "../../json/text-events.js";
import { idOf, reasoningItem, type Status, summaryPart } from "./answer.js";
import { added, deltaHead, done, type Item, type Said, type Where } from "./open-items.js";

/** An item of thoughts. */
export class ReasoningItem implements Item {
  readonly #where: Where;
  /** What the model server wants to see again. */
  readonly #details: Thoughts;
  #status: Status = "in_progress";
  #text = "";
  readonly #deltas = new TextEvents();

  /** @param details those that came before it */
  constructor(where: Where, details = new Thoughts()) {
    this.#where = where;
    this.#details = details;
  }

  get isOpen(): boolean {
    return this.#status === "in_progress";
  }

  /** Whether its text has begun: some thoughts have none that may be read. */
  get hasText(): boolean {
    return this.#deltas.begun;
  }

  opening(): Said[] {
    return [added(this.#where, this.#as("in_progress"))];
  }

  /** Begins its text, which is the only part. */
  begin(): Said[] {
    const head = deltaHead("response.reasoning_summary_text.delta", this.#part);
    this.#deltas.begin(head, '","sequence_number":');
    return [["response.reasoning_summary_part.added", `${this.#part},"part":${summaryPart("")}`]];
  }

  /** A piece of its text, which has begun. @param number of the event */
  add(text: string, number: number, to: EventSink): void {
    this.#text += text;
    this.#deltas.write(text, to, `${number}}\n\n`);
  }

  /** Takes what the model server wants to see again. */
  keep({ reasoningDetails }: Reasoning): void {
    if (reasoningDetails) this.#details.add({ reasoningDetails });
  }

  close(status: Status): Said[] {
    this.#status = status;
    const ending = done(this.#where, this.text());
    if (!this.hasText) return [ending];
    return [
      ["response.reasoning_summary_text.done", `${this.#part},"text":${toJsonString(this.#text)}`],
      ["response.reasoning_summary_part.done", `${this.#part},"part":${summaryPart(this.#text)}`],
      ending,
    ];
  }

  text(): string {
    return this.#as(this.isOpen ? "incomplete" : this.#status);
  }

  #as(status: Status): string {
    const { stamp, index } = this.#where;
    const reasoning = { ...this.#details.all, reasoningContent: this.#text };
    return reasoningItem(stamp, index, reasoning, status);
  }

  get #part(): string {
    const { stamp, index } = this.#where;
    return `"item_id":"${idOf("rs", stamp, index)}","output_index":${index},"summary_index":0`;
  }
}
