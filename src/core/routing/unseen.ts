/** Images whose caller sees none of them before all are there. */
import type { Batch } from "./attempt.js";
import { onlyTells } from "./waiting.js";

type Step = IteratorResult<Batch>;

/** Keeps images back as long as another target may be asked to make them all. */
export class Unseen {
  #images: Batch = [];

  /** What goes on now: how far it is, or with the last step all images; `undefined`: what came is kept. */
  pass(step: Step): Step | undefined {
    if (onlyTells(step)) return step;
    if (!isLast(step)) {
      this.#images = [...this.#images, ...step.value];
      return undefined;
    }
    const images = this.#images;
    if (images.length === 0) return step;
    this.#images = [];
    return { done: false, value: step.done ? images : [...images, ...step.value] };
  }

  /** Their target was lost. */
  forget(): void {
    this.#images = [];
  }
}

/** Whether nothing more of an answer can come. */
const isLast = ({ done, value }: Step): boolean =>
  done === true || (value as Batch).some((it) => "event" in it && it.event.case === "done");
