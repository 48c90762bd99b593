/** A line on the terminal that says how far something is. */
import { canRedraw } from "./output.js";

const width = 30;

/** Shows progress on a terminal; elsewhere it stays silent. */
export class ProgressLine {
  readonly #stream: NodeJS.WriteStream;
  #shown = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  /**
   * Replaces what is shown.
   * @param percent 0 to 100
   */
  show(percent: number, words: string): void {
    if (!canRedraw(this.#stream)) return;
    const full = Math.max(0, Math.min(width, Math.round((percent / 100) * width)));
    const bar = "#".repeat(full).padEnd(width, "-");
    const line = `[${bar}] ${Math.floor(percent).toString().padStart(3)}%  ${words}`;
    this.#stream.write(`\r\x1b[K${line.slice(0, (this.#stream.columns || 80) - 1)}`);
    this.#shown = true;
  }

  /** Takes the line away, so that something else can be written. */
  clear(): void {
    if (this.#shown) this.#stream.write("\r\x1b[K");
    this.#shown = false;
  }
}
