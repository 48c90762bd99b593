/** Streams that are held open: `streams.c`. */
import { type Contestant, chatBody, pathOf } from "../contestants/contestant.js";
import { otherCore, output } from "../cores.js";

/** What it measured, without the time in which streams are opened; times in µs. */
export interface Streamed {
  readonly events: number;
  /** Reads that brought an event. */
  readonly eventReads: number;
  readonly first50: number;
  readonly first99: number;
  readonly delay50: number;
  readonly delay99: number;
}

/**
 * Seconds, not counted, in which streams are opened; as `streams.c` has it.
 */
export const opening = 2.56;

/**
 * Holds streams open for so many seconds after all of them are.
 * @param program what `streams.c` became
 * @param contestant absent: the model server itself
 */
export async function streams(
  program: string,
  contestant: Contestant | undefined,
  port: number,
  open: number,
  seconds: number,
): Promise<Streamed> {
  const path = contestant ? pathOf(contestant) : "/v1/chat/completions";
  const headers = Object.entries(contestant?.headers ?? {}).map(
    ([key, value]) => `${key}: ${value}`,
  );
  const who = [String(port), path, String(open), String(seconds), contestant?.token ?? "any"];
  return JSON.parse(
    await output(otherCore, program, [...who, ...headers], chatBody("paced", true)),
  );
}
