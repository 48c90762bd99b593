/** What whole answers and streams have in common on their way into the contract's shape. */
import type { ContentPart, LLMRequest, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { imagesFor } from "../drawn.js";
import { LintelError } from "../errors.js";
import { areObjects, isJsonOf } from "../json.js";
import { ask, Relay, type Waiter } from "../steps.js";
import { wellFormed } from "../well-formed.js";
import { finishReasonOf } from "./reasons.js";

/** What one step of an answer brings. */
export type Batch = readonly LLMResponse[];

/** A step of its iteration. */
export type Step = IteratorResult<Batch>;

/** Nothing follows. */
export const over: Step = { done: true, value: undefined };

/** What is to be seen again of thoughts, as doors write it into their own JSON: nothing where it is none. */
export function detailsFor(text = ""): string {
  const details = wellFormed(text);
  return details === "" || isJsonOf(details, areObjects) ? details : "";
}

/** The error for an answer that takes more room than any model fills. */
export const tooLarge = () =>
  new LintelError("upstream_failed", "the model server sent an answer that is too large");

const noPicture = "images: the model server sent something that is none, left out";

/** Shapes each step of a source. */
export abstract class Shaped extends Relay<Batch> {
  protected readonly call: Call;
  /** Whether nothing follows. */
  protected done = false;

  constructor(call: Call, source: AsyncIterator<Batch>) {
    super(source);
    this.call = call;
  }

  override ask(by: Waiter<Step>): void {
    if (this.done) by.came(over);
    else super.ask(by);
  }

  /** Notes why the answer ended, and tells it. */
  protected ended(said: string, calls: boolean): string {
    const reason = finishReasonOf(said, calls);
    if (reason !== "stop") this.call.attributes.finishReason = reason;
    return reason;
  }

  /** Which of the texts that the caller named ended it, of what a model server says. */
  protected stopOf(reason: string, said: string | undefined): string | undefined {
    if (said === undefined || reason !== "stop") return undefined;
    // Servers stop at texts of their own, too, and tell tokens and reasons by the same name.
    return (this.call.request as LLMRequest).stop.includes(said) ? said : undefined;
  }

  /** The pictures among what a model server calls some; of others the caller hears. */
  protected imagesOf(said: ContentPart[]): ContentPart[] {
    const images = imagesFor(said);
    if (images.length < said.length) this.call.warnings.add(noPicture);
    return images;
  }

  /** Passes on what a step says; where that is nothing, it asks on. */
  override came(step: Step): void {
    let said: Step | undefined;
    try {
      said = this.done ? over : this.shape(step);
    } catch (thrown) {
      this.failed(thrown);
      return;
    }
    if (said) super.came(said);
    else ask(this.source, this);
  }

  /** What a step says; `undefined` where that is nothing. */
  protected abstract shape(step: Step): Step | undefined;
}
