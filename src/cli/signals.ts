/** Leaving on SIGTERM and SIGINT, or not. */
import type { Logger } from "../core/log.js";

/**
 * A signal again within this time is the same one, milliseconds: npm hands
 * Ctrl-C on to a process that the terminal has told already.
 */
const sameSignalMs = 300;

/** Exit codes of a process that a signal ended, as shells report them. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Resolves at the first signal. A later one leaves at once.
 * @param leave ends the process, with the exit status that the signal makes
 */
export function untilSignal(leave: (signal: string, status: number) => void): Promise<string> {
  return new Promise((resolve) => {
    let first: number | undefined;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        first ??= performance.now();
        if (performance.now() - first > sameSignalMs) leave(signal, exitCodes[signal]);
        resolve(signal);
      });
    }
  });
}

/**
 * Ends the process at once, and says which calls that cuts off.
 * @param calls that run
 * @param status with which it ends
 */
export function leaveAtOnce(log: Logger, signal: string, status: number, calls: number): never {
  log.warn({ signal, calls, status }, "a second signal ends the process at once");
  process.exit(status);
}

/**
 * Outlives the signals that end a whole process group or control group, as Ctrl-C,
 * a terminal that closes, and systemd send them.
 * @returns a promise that never resolves
 */
export function ignoreSignals(): Promise<never> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  return new Promise(() => {});
}
