/**
 * What limits cost a call, in CPU time: counted in memory, with more and more of
 * them. Run by `npm run bench:limits`.
 */
import type { Call } from "../src/core/call.js";
import { Budgets } from "../src/core/limits/budgets.js";
import { Rules } from "../src/core/limits/rules.js";
import type { LimitSettings } from "../src/core/limits/settings.js";
import { limit } from "../src/core/limits/step.js";
import { memoryLimits } from "../src/state/limits/memory.js";

const calls = 200_000;
const many = 1_000_000_000;
const all = {
  requestsPerMinute: many,
  tokensPerMinute: many,
  concurrent: many,
  budget: { amount: 9_000_000, period: "month" },
} as const;

const settings: Record<string, LimitSettings> = {
  none: { models: [] },
  "requests, per caller": { models: [], caller: { requestsPerMinute: many } },
  "requests and tokens, per caller": {
    models: [],
    caller: { requestsPerMinute: many, tokensPerMinute: many },
  },
  "four limits, per caller, model and gateway": {
    models: [{ model: "m*", ...all }],
    caller: all,
    global: all,
  },
};

/** Calls of some callers, as far as limits look at them. */
function callOf(i: number): Call {
  const ended: { ended(code: "ok"): void }[] = [];
  return {
    method: "chat",
    request: { messages: [{ content: "Hello, what is a lintel?" }] },
    caller: { id: `caller-${i % 100}`, token: "t" },
    signal,
    metadata: new Map(),
    attributes: { model: "model", promptTokens: 7, completionTokens: 20 },
    life: { onEnd: (listener: (typeof ended)[number]) => ended.push(listener), ended },
  } as unknown as Call;
}
const { signal } = new AbortController();
const prices = [{ model: "*", input: 1, output: 2 }];

console.log(`microseconds of CPU a call, ${calls} calls of 100 callers, Node ${process.version}`);
let nothing = 0;
for (const [name, of] of Object.entries({ warm: settings["requests, per caller"], ...settings })) {
  const rules = new Rules(of as LimitSettings);
  const step = limit({
    rules,
    budgets: new Budgets({ rules, auth: { mode: "public" } }),
    prices,
    store: memoryLimits(),
    bounds: {},
  });
  const handle = step(() => ({}) as never);
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) {
    const call = callOf(i);
    handle(call);
    for (const { ended } of (call.life as unknown as { ended: { ended(code: "ok"): void }[] })
      .ended)
      ended("ok");
  }
  const { user, system } = process.cpuUsage(before);
  const each = (user + system) / calls;
  if (name === "warm") continue;
  if (name === "none") nothing = each;
  console.log(`${name.padEnd(46)}${(each - nothing).toFixed(2).padStart(6)}`);
}
