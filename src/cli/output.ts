/** Where the command line writes: results to stdout, everything else to stderr. */

/** Writes a line to stdout. */
export function out(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a line to stderr. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
