/** Where the command line writes: results to stdout, everything else to stderr. */
import { stripVTControlCharacters } from "node:util";

/** Writes a line to stdout. */
export function out(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a line to stderr; servers' words may be in it. */
export function say(text: string): void {
  process.stderr.write(`${printableLines(text)}\n`);
}

/** Whether it is a terminal that can go back over what it shows; that of an editor often can't. */
export const canRedraw = (stream: NodeJS.WriteStream): boolean =>
  stream.isTTY && process.env.TERM !== "dumb";

/** Whether a process that nobody reads has anything left to do. */
let outlivesReader = false;

/** Ends the process once stdout can't be written; without a word where its reader left, as `head` does. */
export function endWithOutput(): void {
  if (!process.stdout.listeners("error").includes(onError)) process.stdout.on("error", onError);
}

function onError(error: NodeJS.ErrnoException): void {
  if (outlivesReader) return;
  if (error.code === "EPIPE") process.exit(0);
  endUnwritten(error);
}

function endUnwritten({ code, message }: NodeJS.ErrnoException, loss = ""): never {
  say(`lintel: the output can't be written (${code ?? message})${loss}`);
  process.exit(1);
}

/**
 * Writes a line to stdout that has to arrive, also where the reader left. Resolves once it
 * did; ends the process where it does not.
 * @param loss what to say besides then
 */
export const deliver = (text: string, loss: string): Promise<void> =>
  delivered(`${text}\n`, `; ${loss}`);

/** Writes bytes to stdout that have to arrive, as `deliver` does. */
export const deliverBytes = (bytes: Uint8Array): Promise<void> => delivered(bytes);

function delivered(what: string | Uint8Array, loss?: string): Promise<void> {
  return new Promise((resolve) => {
    // Comes before the event, which would end the process without a word.
    process.stdout.write(what, (error) => {
      if (error) endUnwritten(error, loss);
      resolve();
    });
  });
}

/** Writes a line to stdout that nobody has to see: that it can't be written ends nothing. */
export function show(text: string): void {
  outlivesReader = true;
  out(text);
}

/** What others named, such as a model or a caller, in one line: it must not steer the terminal. */
export const printable = (text: string): string =>
  stripVTControlCharacters(text).replace(/\p{Cc}|\p{Bidi_Control}/gu, " ");

/** What others wrote; its lines stay lines. */
export const printableLines = (text: string): string =>
  stripVTControlCharacters(text).replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, "");
