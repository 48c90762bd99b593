/** How far the images of one request are, as steps of one image after the other. */

/** A step of an image. */
export interface Step {
  /** The image's position in the response. */
  readonly index: number;
  readonly step: number;
}

/** Never goes back, and never tells the same step twice. */
export class Progress {
  readonly #first: number;
  readonly #count: number;
  readonly #steps: number;
  #last = -1;

  /** @param first position of the first of `count` images, which the server makes at once */
  constructor(first: number, count: number, steps: number) {
    this.#first = first;
    this.#count = count;
    this.#steps = steps;
  }

  /** Where so much of the whole is, 0 to 1; `undefined` if that has been told. */
  at(fraction: number): Step | undefined {
    const step = Math.round(fraction * this.#count * this.#steps);
    // The last step of one image is told with the image.
    return this.#tell(Math.min(step, this.#count * this.#steps - 1));
  }

  /** The last step of an image; `undefined` if a later one has been told. */
  done(image: number): Step | undefined {
    const end = (image + 1) * this.#steps;
    if (this.#last >= end) return undefined;
    this.#last = end - 1;
    return { index: this.#first + image, step: this.#steps };
  }

  #tell(step: number): Step | undefined {
    if (step <= this.#last) return undefined;
    this.#last = step;
    return { index: this.#first + Math.floor(step / this.#steps), step: step % this.#steps };
  }
}
