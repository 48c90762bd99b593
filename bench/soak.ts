/**
 * Many calls of mixed kind against one gateway: does its memory stay flat, and
 * does it let go of every connection? Run by `npm run soak`, shorter by
 * `-- --requests 5000`, from the sources by `-- --sources`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Agent, request } from "undici";
import { ChatService } from "../gen/lintel/v1/chat_pb.js";
import { Memory } from "../test/faults/memory.js";
import { startGateway, startTarget } from "../test/faults/processes.js";
import { handlesOf } from "./soak/outside.js";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "20000" },
    together: { type: "string", default: "16" },
    sources: { type: "boolean", default: false },
  },
});
const total = Number(values.requests);
/** Times that memory is looked at. */
const samples = 20;
/** Most that the memory may grow over the last half. */
const allowed = 0.05;

const home = mkdtempSync(join(tmpdir(), "lintel-soak-"));
const target = await startTarget();
const config = join(home, "lintel.yaml");
writeFileSync(
  config,
  `auth: { mode: none }
log: { level: error }
state: { directory: ${join(home, "state")} }
media: { max_bytes: 1MiB }
idempotency: { max_bytes: 1MiB }
backends:
  - { type: openai, name: t, url: "${target.url}", dialect: localai, image_models: [image] }
`,
);
const memory = new Memory(home);
// The young generation grows in steps of some MB whenever the machine stalls: here it has its full size at once.
const options = ["--min-semi-space-size=16", ...memory.options];
const loader = fileURLToPath(new URL("../scripts/typescript-loader.js", import.meta.url));
const gateway = values.sources
  ? await startGateway(config, [...options, "--import", loader])
  : await startGateway(config, options, "dist/src/main.js");
const { url, pid } = gateway;

const agent = new Agent({ connections: 64 });
const transport = createGrpcTransport({ baseUrl: url });
const grpc = createClient(ChatService, transport);
const outcomes = new Map<string, number>();

const post = (path: string, body: object, signal?: AbortSignal) =>
  request(url + path, {
    dispatcher: agent,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
const chat = (content: string, stream: boolean) => ({
  model: "chat",
  stream,
  messages: [{ role: "user", content }],
});

/** Reads an answer to its end; says its status. */
async function whole(answer: ReturnType<typeof post>): Promise<string> {
  const { statusCode, body } = await answer;
  await body.dump({ limit: 10_000_000 });
  return `${statusCode}`;
}

/** Leaves at some moment of a stream. */
async function leave(when: "at once" | "first" | "half"): Promise<string> {
  const controller = new AbortController();
  const asked = post("/llm", chat("Hello", true), controller.signal);
  if (when === "at once") {
    controller.abort();
    return asked.then(
      () => "not aborted",
      () => "left",
    );
  }
  const { body } = await asked;
  let parts = 0;
  try {
    for await (const _ of body) if (++parts >= (when === "first" ? 1 : 2)) controller.abort();
  } catch {
    return "left";
  }
  return "not aborted";
}

const image = {
  model_id: "image",
  prompt: "a dot",
  width: 64,
  height: 64,
  num_inference_steps: 1,
};
const kinds: readonly (readonly [string, () => Promise<string>])[] = [
  ["REST", () => whole(post("/llm", chat("Hello", false)))],
  ["SSE", () => whole(post("/llm", chat("Hello", true)))],
  ["OpenAI SSE", () => whole(post("/v1/chat/completions", chat("Hello", true)))],
  [
    "gRPC",
    async () => {
      let messages = 0;
      const asked = { model: "chat", messages: [{ role: "user", content: "Hello" }] };
      for await (const _ of grpc.chat(asked)) messages++;
      return messages > 1 ? "answered" : "empty";
    },
  ],
  [
    "gRPC, left",
    async () => {
      const asked = { model: "chat", messages: [{ role: "user", content: "Hello" }] };
      for await (const _ of grpc.chat(asked)) return "left";
      return "empty";
    },
  ],
  ["image", () => whole(post("/text-to-image", image))],
  ["bad request", () => whole(post("/llm", { messages: [] }))],
  ["no such model", () => whole(post("/llm", { ...chat("Hello", true), model: "none" }))],
  ["upstream fails", () => whole(post("/llm", chat("fail please", true)))],
  ["left at once", () => leave("at once")],
  ["left after the first piece", () => leave("first")],
  ["left half-way", () => leave("half")],
];

let next = 0;
async function caller(until: number): Promise<void> {
  while (next < until) {
    const [name, ask] = kinds[next++ % kinds.length] as (typeof kinds)[number];
    const outcome = await ask().catch((error: Error) => error.message.slice(0, 80));
    const key = `${name}: ${outcome}`;
    outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
  }
}

await caller(next + kinds.length);
const before = handlesOf(pid);
const taken: number[] = [];
const from = performance.now();
for (let i = 1; i <= samples; i++) {
  const until = Math.round((total * i) / samples);
  await Promise.all(Array.from({ length: Number(values.together) }, () => caller(until)));
  const { resident, js } = await memory.of(pid);
  taken.push(resident);
  const of = `${resident.toFixed(1)} MB, of these JavaScript's ${js.toFixed(1)} MB`;
  console.log(`${String(next).padStart(6)} calls  ${of}`);
}
const seconds = (performance.now() - from) / 1000;
await agent.destroy();
// The gateway's own connections to the model server stay open for a while.
const settled = Date.now() + 30_000;
while (handlesOf(pid).sockets > before.sockets + 1 && Date.now() < settled) await pause(500);
const after = handlesOf(pid);
// It still answers.
const ping = connect(url);
await new Promise((resolve) => ping.ping(resolve));
ping.destroy();

for (const [what, count] of [...outcomes].sort()) console.log(`${what.padEnd(44)} ${count}`);
const mean = (part: readonly number[]) => part.reduce((sum, one) => sum + one, 0) / part.length;
const half = taken.slice(samples / 2);
// One sample swings by some MB: three of each end.
const growth = mean(half.slice(-3)) / mean(half.slice(0, 3)) - 1;
console.log(`${total} calls in ${seconds.toFixed(0)} s, Node ${process.version}`);
console.log(`growth over the last half: ${(100 * growth).toFixed(2)}%`);
console.log(`sockets ${before.sockets} -> ${after.sockets}, handles ${before.all} -> ${after.all}`);
await gateway.stop();
await target.kill();
rmSync(home, { recursive: true });
if (!(growth < allowed)) {
  console.error("memory is not flat");
  process.exitCode = 1;
}
if (after.sockets > before.sockets + 1) {
  console.error("connections are left open");
  process.exitCode = 1;
}
process.exit();
