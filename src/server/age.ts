/** The age of connections. */
import type { EventEmitter } from "node:events";

/** Part of the greatest age by which some are old sooner: those that came together don't leave together. */
const spread = 0.1;

/**
 * Tells of a connection that has become old.
 * @param age the greatest, milliseconds; absent: none becomes old
 */
export function whenOld(connection: EventEmitter, age: number | undefined, tell: () => void): void {
  if (age === undefined) return;
  const timer = setTimeout(tell, age * (1 - spread * Math.random()));
  timer.unref();
  connection.once("close", () => clearTimeout(timer));
}
