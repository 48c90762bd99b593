/** A node's process: how it begins, ends, and serves several gateways. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { tiny } from "../backends/llama-subject.js";
import { connectTo } from "../backends/node-peer.js";
import { start as call, outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { freePort } from "../support/port.js";
import { build, folder, type Lintel, run, start } from "./lintel.js";

beforeAll(build);

/** A node that runs one call at a time, whose model has room for a long answer. */
async function startNode(cwd: string, listen: string): Promise<{ node: Lintel; address: string }> {
  const key = "llama.context_length";
  const bytes = readFileSync(tiny);
  // After the key stand its type and its value, four bytes each.
  bytes.writeUInt32LE(4096, bytes.indexOf(key) + key.length + 4);
  const model = join(cwd, "wide.gguf");
  writeFileSync(model, bytes);
  const args = ["--sequences", "1", "--context-size", "4096"];
  const node = start(["node", "--model", model, "--listen", listen, ...args], cwd);
  onTestFinished(() => node.kill("SIGKILL"));
  const [, address = ""] = await node.saying(/"url":"(http:[^"]+)"/);
  return { node, address };
}

const long = {
  model: "wide",
  messages: [{ role: "user", content: "hello" }],
  temperature: 0,
  maxTokens: 4000,
};
const short = { ...long, maxTokens: 3 };

test("calls of several gateways take turns on a node; its end is told to all, and its return found by all", async () => {
  const cwd = folder();
  const { node, address } = await startNode(cwd, "127.0.0.1:0");
  const settings = { token: "any", refresh: "100ms" };
  const gateways = ["a", "b", "c"].map(() => coreOf([connectTo(address, settings)]));
  const [a, b, c] = gateways as [(typeof gateways)[0], (typeof gateways)[0], (typeof gateways)[0]];

  // The first one has the only place; who waits gets it once that one has left.
  const leaving = new AbortController();
  const first = call(a, "chat", long, { signal: leaving.signal }).messages[Symbol.asyncIterator]();
  expect((await first.next()).done).toBe(false);
  const waiting = outcome(b, "chat", short);
  leaving.abort(new Error("left"));
  expect((await waiting).code).toBe("ok");

  // One is told in the middle, one that waits ahead of everything.
  const running = call(a, "chat", long).messages[Symbol.asyncIterator]();
  await running.next();
  const behind = outcome(c, "chat", short);
  node.kill("SIGKILL");
  await node.ended;
  const rest = async () => {
    while (!(await running.next()).done);
  };
  await expect(rest()).rejects.toMatchObject({ code: "upstream_unreachable" });
  expect(await behind).toMatchObject({ code: "upstream_unreachable", messages: [] });

  const { node: again } = await startNode(cwd, address.replace("http://", ""));
  for (const gateway of gateways) {
    await vi.waitFor(async () => expect((await outcome(gateway, "chat", short)).code).toBe("ok"), {
      interval: 100,
    });
  }

  // One that is to leave ends what runs, and takes nothing more.
  const last = call(a, "chat", { ...long, maxTokens: 500 }).messages[Symbol.asyncIterator]();
  await last.next();
  again.kill("SIGTERM");
  await again.saying(/"msg":"shutting down"/);
  expect((await outcome(b, "chat", short)).code).toBe("upstream_unreachable");
  let tokens = 0;
  for (let next = await last.next(); !next.done; next = await last.next()) {
    tokens = next.value.at(-1)?.usage?.completionTokens ?? tokens;
  }
  expect(tokens).toBe(500);
  expect(await again.ended).toMatchObject({ code: 0 });
});

test("a path that leads nowhere is warned of by its option, and found by a call once it is there", async () => {
  const cwd = folder();
  mkdirSync(join(cwd, "there"));
  const models = ["there", "later.gguf", "hf:user/repository:Q4_K_M"].flatMap((m) => ["-m", m]);
  const args = ["--classifier", "gone", "--load", "lazy", "--listen", "127.0.0.1:0"];
  const node = start(["node", ...models, ...args], cwd);
  onTestFinished(() => node.kill("SIGKILL"));
  const [, address = ""] = await node.saying(/"url":"(http:[^"]+)"/);
  const problems = [...node.stderr.matchAll(/"problem":"([^"]+)","msg":"this may be a mistake/g)];
  expect(problems.map(([, problem]) => problem)).toEqual([
    `--model: there is no ${join(cwd, "later.gguf")} now`,
    `--classifier: there is no ${join(cwd, "gone")} now`,
  ]);
  writeFileSync(join(cwd, "later.gguf"), readFileSync(tiny));
  const gateway = coreOf([connectTo(address, { token: "any" })]);
  expect((await outcome(gateway, "chat", { ...short, model: "later" })).code).toBe("ok");
});

test.each([
  ["names no files of its models on a port", [], false],
  ["names them where that is asked for", ["--expose-sources"], true],
])("%s", async (_, more, named) => {
  const args = ["node", "--model", tiny, "--load", "lazy", "--listen", "127.0.0.1:0", ...more];
  const node = start(args, folder());
  onTestFinished(() => node.kill("SIGKILL"));
  const [, address = ""] = await node.saying(/"url":"(http:[^"]+)"/);
  const answer = await fetch(`${address}/lintel.v1.ModelsService/ListModels`, {
    method: "POST",
    headers: { authorization: "Bearer any", "content-type": "application/json" },
    body: "{}",
  });
  const { models } = (await answer.json()) as { models: { source?: string }[] };
  expect(models.map(({ source }) => source?.includes(tiny) === true)).toEqual([named]);
});

test("OpenTelemetry's variables that can't be used end it, and what they ask for in vain is warned of", async () => {
  const env = (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
  const args = ["node", "-m", tiny, "--load", "lazy", "--listen", "127.0.0.1:0"];
  expect(await run(args, folder(), env("collector:4318"))).toEqual({
    code: 1,
    stdout: "",
    stderr: "environment: OTEL_EXPORTER_OTLP_ENDPOINT: must be an http:// or https:// address\n",
  });
  const collector = `http://127.0.0.1:${await freePort()}`;
  const protocol = { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" };
  const node = start(args, folder(), { ...env(collector), ...protocol });
  onTestFinished(() => node.kill("SIGKILL"));
  await node.saying(/"problem":"OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which is not spoken: /);
});

test("a second signal cuts off what a node runs, and says how many calls", async () => {
  const { node, address } = await startNode(folder(), "127.0.0.1:0");
  const gateway = coreOf([connectTo(address, { token: "any" })]);
  const running = call(gateway, "chat", long).messages[Symbol.asyncIterator]();
  await running.next();
  node.kill("SIGINT");
  const again = setInterval(() => node.kill("SIGINT"), 50);
  onTestFinished(() => clearInterval(again));
  expect(await node.ended).toEqual({ code: 130, signal: null });
  expect(node.stderr).toMatch(
    /"signal":"SIGINT","msg":"shutting down"[\s\S]*"calls":1,"status":130,"msg":"a second signal ends/,
  );
  const rest = async () => {
    while (!(await running.next()).done);
  };
  await expect(rest()).rejects.toMatchObject({ code: "upstream_unreachable" });
});
