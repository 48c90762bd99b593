/**
 * What ways to make an object leave in V8's old space, and what they take: descriptions ("hidden
 * classes") of one object alone, which hold what it was made from until a full collection. Run by
 *   npx tsx bench/literals.ts
 * and by another Node as `node --import tsx bench/literals.ts`.
 */
import { GCProfiler } from "node:v8";
import { tuneV8 } from "../src/v8.js";
import { scavenges } from "./old-space.js";

// As the gateway runs.
tuneV8();

const text = JSON.stringify({
  model: "a",
  messages: [{ role: "user", content: "b" }],
  stream: true,
});
const sent = () => JSON.parse(text) as Record<string, unknown>;
const ours = () => ({ model: "a", messages: [1], stream: true });

class Named {
  readonly #of: object;
  constructor(of: object) {
    this.#of = of;
  }
  get name(): object {
    return this.#of;
  }
}

async function* steps(of: object) {
  yield of;
}

/** Put together name by name, where these are not known to the code. */
function grown(fields: number): Record<string, unknown> {
  const made: Record<string, unknown> = { first: "a" };
  for (let i = 1; i < fields; i++) made[`field${i}`] = "b";
  return made;
}
const sixteen = grown(16);
const seventeen = grown(17);
const inOnePiece = JSON.parse(JSON.stringify(seventeen)) as object;

const ways: Readonly<Record<string, () => unknown>> = {
  "{ ...sent }": () => ({ ...sent() }),
  "{ ...sent, messages }": () => ({ ...sent(), messages: 1 }),
  "{ ...sent, stop }": () => ({ ...sent(), stop: 1 }),
  "{ ...sent, stop, tools, user }": () => ({ ...sent(), stop: 1, tools: 2, user: 3 }),
  "{ stop, tools, user, ...sent }": () => ({ stop: 1, tools: 2, user: 3, ...sent() }),
  "{ ...all } = sent, and members assigned": () => {
    const { ...all } = sent();
    return Object.assign(all, { stop: 1, tools: 2, user: 3 });
  },
  "{ ...grown } of 16 names": () => ({ ...sixteen }),
  "{ ...grown } of 17 names": () => ({ ...seventeen }),
  "the same, read from JSON": () => ({ ...inOnePiece }),
  "{ ...ours }": () => ({ ...ours() }),
  "{ ...ours, stop, tools, user }": () => ({ ...ours(), stop: 1, tools: 2, user: 3 }),
  "{ stop, ...ours, tools, user }": () => ({ stop: 1, ...ours(), tools: 2, user: 3 }),
  "{ get name() }": () => {
    const of = ours();
    return {
      get name() {
        return of;
      },
    };
  },
  "a class with such a getter": () => new Named(ours()),
  "a closure that is a generator, called": () => {
    const of = ours();
    return (async function* () {
      yield of;
    })();
  },
  "a generator of the module, called": () => steps(ours()),
};

const times = 200_000;
const kept: unknown[] = Array(64).fill(0);

console.log(`Node ${process.version}\n     ns  bytes in the old space`);
for (const [name, make] of Object.entries(ways)) {
  for (let i = 0; i < times / 4; i++) kept[i % kept.length] = make();
  const collector = new GCProfiler();
  collector.start();
  const begun = performance.now();
  for (let i = 0; i < times; i++) kept[i % kept.length] = make();
  const ns = ((performance.now() - begun) * 1e6) / times;
  const { statistics } = collector.stop();
  const { bytes } = scavenges(statistics);
  console.log(`${ns.toFixed(0).padStart(7)} ${(bytes / times).toFixed(0).padStart(6)}  ${name}`);
}
