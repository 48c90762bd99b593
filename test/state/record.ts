/** A record of usage, for tests. */
import type { UsageRecord } from "../../src/core/usage/record.js";
import { lineOf } from "../../src/state/database/usage-line.js";

let made = 0;

/** A call that went well, but for what is said otherwise. */
export function record(different: Partial<UsageRecord> = {}): UsageRecord {
  return {
    id: `test-${made++}`,
    at: Date.UTC(2026, 0, 1),
    requestId: "req-1",
    caller: "alice",
    token: "tok_1",
    door: "rest",
    method: "chat",
    model: "chat-1",
    backend: "local",
    attempts: 1,
    promptTokens: 10,
    completionTokens: 5,
    images: 0,
    estimated: false,
    durationMs: 20,
    outcome: "ok",
    ...different,
  };
}

/** Records as they stand in a journal. */
export const linesOf = (...records: readonly UsageRecord[]): string[] => records.map(lineOf);
