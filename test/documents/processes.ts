/** The processes that documents are read in, as tests see them. */
import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";

/** Processes that begin while the test runs, in their order, and how many there were at once. */
export function processes() {
  const begun: ChildProcess[] = [];
  const seen = { begun, most: 0 };
  const watch = (message: unknown) => {
    begun.push((message as { readonly process: ChildProcess }).process);
    seen.most = Math.max(seen.most, begun.filter((process) => !isGone(process)).length);
  };
  subscribe("child_process", watch);
  onTestFinished(() => void unsubscribe("child_process", watch));
  return seen;
}

/** Whether one has ended. */
export const isGone = ({ exitCode, signalCode }: ChildProcess) =>
  exitCode !== null || signalCode !== null;
