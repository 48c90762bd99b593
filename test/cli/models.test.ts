/** `lintel models`, against nodes that run: what is listed, and what is kept back. */
import { copyFileSync, mkdtempSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { startNode } from "../../src/node.js";
import { tiny, trained } from "../backends/llama-subject.js";
import { runHere } from "./here.js";

const folder = mkdtempSync(join(tmpdir(), "lintel-models-"));
const broken = join(folder, "cut.gguf");
copyFileSync(trained, broken);
truncateSync(broken, 2_000_000);
const text = join(folder, "text.gguf");
writeFileSync(text, "this is no model");
const missing = join(folder, "missing.gguf");
const models = [tiny, broken, text, missing];

const socket = join(folder, "node.sock");
const onSocket = await startNode({ models, listen: { path: socket }, log: silent });
const onPort = await startNode({
  models: [tiny],
  listen: { host: "127.0.0.1", port: 0 },
  load: "lazy",
  log: silent,
});
afterAll(() => Promise.all([onSocket.close(), onPort.close()]));

interface Entry {
  readonly id: string;
  readonly state: string;
  readonly state_detail: string;
  readonly size_bytes: number;
  readonly source: string;
}
const entries = async (server: string): Promise<Entry[]> =>
  JSON.parse((await runHere(["models", "--json", "--server", server])).stdout);

describe("a node on a socket", () => {
  test("lists what is loaded, where from, size and state; broken files beside one that serves", async () => {
    await expect
      .poll(async () => (await entries(`unix:${socket}`)).filter((m) => m.state === "loading"), {
        timeout: 20_000,
      })
      .toEqual([]);
    const byId = Object.fromEntries((await entries(`unix:${socket}`)).map((m) => [m.id, m]));
    expect(byId).toMatchObject({
      tiny: { state: "ready", size_bytes: statSync(tiny).size, source: tiny },
      cut: { state: "failed", size_bytes: 2_000_000, source: broken },
      text: { state: "failed", state_detail: "text.gguf: not a GGUF file" },
      missing: { state: "failed", state_detail: "missing.gguf: no such file", size_bytes: 0 },
    });
    expect(byId.cut?.state_detail).toMatch(/^cut\.gguf: .*(corrupted|incomplete|bounds)/);

    const chat = await runHere(["chat", "hello", "--server", `unix:${socket}`, "-m", "tiny"]);
    expect(chat.code).toBe(0);
    const other = await runHere(["chat", "hello", "--server", `unix:${socket}`, "-m", "text"]);
    expect(other).toMatchObject({ code: 1, stderr: "lintel: text.gguf: not a GGUF file\n" });
  });

  test("as a table, with what is wrong below", async () => {
    const { code, stdout } = await runHere(["models", "--server", `unix:${socket}`]);
    expect(code).toBe(0);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^MODEL +TASK +STATE +SIZE +SOURCE$/);
    expect(lines.find((line) => line.startsWith("tiny"))).toMatch(
      new RegExp(`chat +ready +[\\d.]+ kB +${tiny}$`),
    );
    expect(lines.filter((line) => line.includes("no such file"))).toEqual([
      "missing: missing.gguf: no such file",
    ]);
  });
});

test("a node on a port keeps its paths to itself; a lazy model is idle until it is asked", async () => {
  expect(await entries(onPort.url)).toMatchObject([{ id: "tiny", state: "idle", source: "" }]);
  const { stdout } = await runHere(["models", "--server", onPort.url]);
  expect(stdout).not.toContain("SOURCE");
  await runHere(["chat", "hello", "--server", onPort.url]);
  expect(await entries(onPort.url)).toMatchObject([{ id: "tiny", state: "ready" }]);
});
