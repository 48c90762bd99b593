/** Leaving on SIGTERM and SIGINT, or not. */
import { constants } from "node:os";
import type { Logger } from "../core/log.js";

/**
 * A signal again within this time is the same one, milliseconds: npm hands
 * Ctrl-C on to a process that the terminal has told already.
 */
const sameSignalMs = 300;

/** On Windows a console that closes sends SIGHUP, ahead of ending the process, and Ctrl-Break SIGBREAK. */
const ofConsoles = ["SIGHUP", "SIGBREAK"] as const;

/** Whether SIGHUP asks for a reload, as it does everywhere but on Windows. */
export const hangUpReloads = process.platform !== "win32";

/** Those that ask a process to leave. */
const farewells = ["SIGINT", "SIGTERM", ...(hangUpReloads ? [] : ofConsoles)] as const;

/**
 * Resolves at the first signal. A later one leaves at once.
 * @param leave ends the process, with the exit status that the signal makes
 */
export function untilSignal(leave: (signal: string, status: number) => void): Promise<string> {
  return new Promise((resolve) => {
    let first: number | undefined;
    for (const signal of farewells) {
      process.on(signal, () => {
        first ??= performance.now();
        // As shells report a process that a signal ended.
        if (performance.now() - first > sameSignalMs)
          leave(signal, 128 + constants.signals[signal]);
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
  for (const signal of ["SIGINT", "SIGTERM", ...ofConsoles] as const) process.on(signal, () => {});
  return new Promise(() => {});
}
