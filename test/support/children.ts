/** Processes of processes, as Linux tells of them. */
import { readFileSync } from "node:fs";

/** Processes that one started, and that still run. @throws if it is gone itself */
export const childrenOf = (pid: number): number[] =>
  (readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").match(/\d+/g) ?? []).map(Number);
