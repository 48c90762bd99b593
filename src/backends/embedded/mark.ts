/** How the child process knows that it is one. */

/**
 * Variable in its environment. The channel alone does not tell: process managers
 * open one too, and end what they started with signals.
 */
export const embeddedMark = "LINTEL_EMBEDDED";

/** Whether this process is the child of a gateway that runs. */
export function isEmbedded(): boolean {
  return process.send !== undefined && process.env[embeddedMark] !== undefined;
}
