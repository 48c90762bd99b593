/**
 * What usage and tokens cost a call: the core around a backend that answers at
 * once, with and without records, interleaved. `npm run bench:usage` prints CPU
 * microseconds per call.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { silent } from "../src/core/log.js";
import type { Input } from "../src/core/methods.js";
import { createToken, hashToken } from "../src/core/tokens.js";
import type { UsageSink } from "../src/core/usage/record.js";
import { Journal } from "../src/state/journal/journal.js";
import { coreOf } from "../test/support/core.js";
import { say } from "../test/support/messages.js";
import { says, scripted } from "../test/support/scripted.js";

const rounds = 15;
const calls = 4000;
/** Calls that run at the same time. */
const together = 50;

const home = mkdtempSync(join(tmpdir(), "lintel-bench-"));
const journal = new Journal({ directory: home, log: silent });
const nowhere: UsageSink = { keep: () => Promise.resolve() };

/** What it costs that calls wait for the end of the turn, without a write. */
let turn: Promise<void> | undefined;
const later: UsageSink = {
  keep() {
    turn ??= new Promise((resolve) => {
      setImmediate(() => {
        turn = undefined;
        resolve();
      });
    });
    return turn;
  },
};

const secret = createToken();
const auth = { mode: "token", tokens: [{ name: "me", hash: hashToken(secret) }] } as const;
const core = (sink?: UsageSink, settings = {}) =>
  coreOf(
    [scripted({ chat: says("a", "b", "c") })],
    settings,
    sink && { usage: { sink, prices: [] } },
  );

const subjects = {
  "without records": core(),
  "records made and dropped": core(nowhere),
  "records held for a turn": core(later),
  "records in the journal": core(journal),
  "issued tokens, no records": core(undefined, { auth }),
};

const request = {
  $typeName: "lintel.v1.LLMRequest",
  model: "",
  stop: [],
  tools: [],
  modalities: [],
  messages: [say("user", "Hello")],
} as unknown as Input<"complete">;

async function measure(subject: ReturnType<typeof core>): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i += together) {
    await Promise.all(
      Array.from({ length: together }, async () => {
        const { signal } = new AbortController();
        const origin = { door: "bench", credential: secret, signal };
        for await (const _ of subject.call("complete", request, origin).messages);
      }),
    );
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

const results = new Map<string, number[]>();
const startedAt = performance.now();
for (let round = -2; round < rounds; round++) {
  for (const [name, subject] of Object.entries(subjects)) {
    const micros = await measure(subject);
    if (round >= 0) results.set(name, [...(results.get(name) ?? []), micros]);
  }
}
for (const [name, all] of results) {
  const sorted = all.toSorted((a, b) => a - b);
  const [least, median] = [sorted[0] ?? 0, sorted[Math.floor(sorted.length / 2)] ?? 0];
  console.log(
    `${name.padEnd(28)} ${least.toFixed(1).padStart(6)} least ${median.toFixed(1).padStart(6)} median`,
  );
}
console.log(`${Math.round((performance.now() - startedAt) / 1000)} s`);
rmSync(home, { recursive: true, force: true });
