/** What callers are told beside an answer: what was dropped, or could not be done. */

/** What is said of something that was asked for, and left out. @param what a field, as a rule */
export const notSupported = (what: string): string =>
  `${what}: not supported by this model, ignored`;

/** Warnings in the order in which they came, each once. */
export class Warnings implements Iterable<string> {
  readonly #said: string[] = [];
  #listener: Warnings | undefined;

  /** @param said what is known already */
  constructor(said: Iterable<string> = []) {
    for (const text of said) this.add(text);
  }

  add(text: string): void {
    if (this.#said.includes(text)) return;
    this.#said.push(text);
    this.#listener?.add(text);
  }

  /** Adds all that was said here to others, and from now on all that will be. */
  handTo(others: Warnings): void {
    for (const text of this.#said) others.add(text);
    this.#listener = others;
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#said.values();
  }
}
