/** Where the log's lines go: a file descriptor that may be full, slow or gone. */
import { closeSync, fstatSync, openSync, readSync, write, writeSync } from "node:fs";

/** Longest that a line waits for others to be written with it, milliseconds. */
const patience = 50;
/** Characters after which they are written at once. */
const enough = 8192;
/** Most characters that wait while nothing can be written; lines beyond are lost. One line may be longer. */
const most = 1024 * 1024;
/** How soon is tried again where nobody reads, and after any other failure, milliseconds. */
const busyMs = 10;
const failedMs = 1000;
/** Longest that the end of the process waits for a reader, milliseconds. */
const farewellMs = 1000;

/**
 * Writes lines in the background, those of a moment together. Nobody waits for the log, and
 * nothing fails for it: while it can't be written, lines wait, and those that are too many
 * are counted.
 */
export class LogWriter {
  readonly #fd: number;
  /** It takes what it has room for, and says at once where it has none. */
  readonly #prompt: boolean;
  readonly #notice: (lost: number) => string;
  /** What waits. */
  #lines = "";
  /** What is being written, until all of it is. */
  #hand: Buffer | undefined;
  /** How much of it is. */
  #done = 0;
  /** Size of the file without what is done of that; `undefined`: it is none. */
  #before: number | undefined;
  /** Another thread is at it. */
  #away = false;
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param stream whose descriptor it is: `process.stderr`
   * @param notice makes the line that stands where lines were lost
   */
  constructor({ fd }: { readonly fd: number }, notice: (lost: number) => string) {
    this.#fd = fd;
    this.#prompt = takesOrRefuses(fd);
    this.#notice = notice;
    if (endsWithinLine(fd)) this.#lines = "\n";
  }

  /** Takes a line with its end, or several at once, as they come from other processes. */
  write(lines: string): void {
    // They alone have room however long they are: were they lost, no later ones would be written.
    const full = () => this.#lines !== "" && this.#lines.length + lines.length > most;
    if (full() && !this.#hand) this.#begin();
    if (this.#lost > 0 || full()) {
      this.#lost += lines.split("\n").length - 1;
      return;
    }
    this.#lines += lines;
    if (!this.#hand) this.#soon();
  }

  /** Writes what is left, as far as that is possible now: for the end of the process. */
  end(): void {
    const until = performance.now() + farewellMs;
    // The other thread comes to its end, too.
    let left = this.#away || !this.#hand ? this.#take() : this.#rest(this.#hand);
    while (left.length > 0) {
      const { error, done } = attempt(this.#fd, left);
      if (error && (!isBusy(error) || performance.now() > until)) return;
      if (error) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyMs);
      left = left.subarray(done);
      if (left.length === 0) left = this.#take();
    }
  }

  #soon(): void {
    if (this.#lines.length >= enough) this.#begin();
    else if (this.#lines) this.#timer ??= setTimeout(() => this.#begin(), patience).unref();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#hand = this.#take();
    this.#done = 0;
    this.#before = this.#prompt ? undefined : sizeOf(this.#fd);
    this.#push(this.#hand);
  }

  #take(): Buffer {
    const text = this.#lost > 0 ? this.#lines + this.#notice(this.#lost) : this.#lines;
    this.#lines = "";
    this.#lost = 0;
    return Buffer.from(text);
  }

  /** What is left to be written: from the begin of its line on where somebody emptied the file meanwhile. */
  #rest(hand: Buffer): Buffer {
    const size = this.#before === undefined ? undefined : sizeOf(this.#fd);
    if (size !== undefined && size < (this.#before ?? 0) + this.#done) {
      this.#done = hand.lastIndexOf(newline, this.#done - 1) + 1;
      this.#before = size - this.#done;
    }
    return hand.subarray(this.#done);
  }

  #push(bytes: Buffer): void {
    if (this.#prompt) {
      const { error, done } = attempt(this.#fd, bytes);
      this.#pushed(error, done);
    } else {
      this.#away = true;
      write(this.#fd, bytes, (error, done) => this.#pushed(error, done));
    }
  }

  #pushed(error: unknown, done: number): void {
    const hand = this.#hand as Buffer;
    this.#away = false;
    if (error) {
      const pause = isBusy(error) ? busyMs : failedMs;
      setTimeout(() => this.#push(this.#rest(hand)), pause).unref();
      return;
    }
    this.#done += done;
    if (this.#done < hand.length) {
      this.#push(this.#rest(hand));
    } else {
      this.#hand = undefined;
      this.#soon();
    }
  }
}

function attempt(fd: number, bytes: Buffer): { error?: unknown; done: number } {
  try {
    return { done: writeSync(fd, bytes) };
  } catch (error) {
    return { error, done: 0 };
  }
}

const isBusy = (error: unknown) => (error as NodeJS.ErrnoException).code === "EAGAIN";

const newline = 10;

/** Of a file, in bytes; `undefined`: it is none, or nobody knows. */
function sizeOf(fd: number): number | undefined {
  try {
    const info = fstatSync(fd);
    return info.isFile() ? info.size : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a file ends within a line, as one does whose writer ended while the disk was full. */
function endsWithinLine(fd: number): boolean {
  const size = sizeOf(fd);
  if (!size) return false;
  try {
    // The log is opened to be written alone.
    const reading = openSync(`/dev/fd/${fd}`, "r");
    try {
      const last = Buffer.alloc(1);
      return readSync(reading, last, 0, 1, size - 1) === 1 && last[0] !== newline;
    } finally {
      closeSync(reading);
    }
  } catch {
    return false;
  }
}

/** Node lets no write to a pipe or socket wait for its reader once it made a stream of it. */
function takesOrRefuses(fd: number): boolean {
  // What Windows gives to a process that has no console may not be asked for.
  if (process.platform === "win32") return false;
  const info = fstatSync(fd);
  return info.isFIFO() || info.isSocket();
}
