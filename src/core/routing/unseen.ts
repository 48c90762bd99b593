/** Images whose caller sees none of them before all are there. */
import type { Batch } from "./attempt.js";
import { onlyTells } from "./waiting.js";

type Step = IteratorResult<Batch>;

/** Bytes of one call's images that may be kept: beyond, those that there are go on to where they are stored. */
const most = 16 * 1024 * 1024;

/** Keeps images back as long as another target may be asked to make them all. */
export class Unseen {
  #images: Batch = [];
  #bytes = 0;

  /** What goes on now: how far it is, or all images that came; `undefined`: what came is kept. */
  pass(step: Step): Step | undefined {
    if (onlyTells(step)) return step;
    if (!step.done) this.#bytes += bytesOf(step.value);
    if (!isLast(step) && this.#bytes <= most) {
      this.#images = [...this.#images, ...step.value];
      return undefined;
    }
    const images = this.#images;
    if (images.length === 0) return step;
    this.forget();
    return { done: false, value: step.done ? images : [...images, ...step.value] };
  }

  /** Their target was lost. */
  forget(): void {
    this.#images = [];
    this.#bytes = 0;
  }
}

function bytesOf(batch: Batch): number {
  let bytes = 0;
  for (const it of batch) {
    if ("event" in it && it.event.case === "image") bytes += it.event.value.media?.data.length ?? 0;
  }
  return bytes;
}

/** Whether nothing more of an answer can come. */
const isLast = ({ done, value }: Step): boolean =>
  done === true || (value as Batch).some((it) => "event" in it && it.event.case === "done");
