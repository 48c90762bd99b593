/** `lintel models`, against nodes that run: what is listed, and what is kept back. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { startNode } from "../../src/node.js";
import { tiny, trained } from "../backends/llama-subject.js";
import { folderOf } from "../backends/onnx/support.js";
import { runHere } from "./here.js";

const folder = mkdtempSync(join(tmpdir(), "lintel-models-"));
const broken = join(folder, "cut.gguf");
copyFileSync(trained, broken);
truncateSync(broken, 2_000_000);
const text = join(folder, "text.gguf");
writeFileSync(text, "this is no model");
const missing = join(folder, "missing.gguf");
/** A copy of an image model with something wrong. */
function damaged(name: string, damage: (copy: string) => void): string {
  const copy = join(folder, name);
  cpSync(folderOf("tiny"), copy, { recursive: true });
  damage(copy);
  return copy;
}
const pictures = join(folder, "pictures");
cpSync(folderOf("tiny"), pictures, { recursive: true });
const images = [
  damaged("cut-unet", (copy) => truncateSync(join(copy, "unet/model.onnx"), 2000)),
  damaged("no-decoder", (copy) => rmSync(join(copy, "vae_decoder/model.onnx"))),
  damaged("other-layout", (copy) =>
    writeFileSync(join(copy, "model_index.json"), '{"_class_name": "FluxPipeline"}'),
  ),
];
const models = [tiny, broken, text, missing, pictures, ...images];

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
  readonly context_length: number;
  readonly source: string;
}
const entries = async (server: string): Promise<Entry[]> =>
  JSON.parse((await runHere(["models", "--json", "--server", server])).stdout);

describe("a node on a socket", () => {
  test("lists what is loaded, where from, size and state; broken files beside one that serves", async () => {
    await expect
      .poll(async () => (await entries(`unix:${socket}`)).filter((m) => m.state === "loading"))
      .toEqual([]);
    const byId = Object.fromEntries((await entries(`unix:${socket}`)).map((m) => [m.id, m]));
    expect(byId).toMatchObject({
      tiny: { state: "ready", size_bytes: statSync(tiny).size, context_length: 128, source: tiny },
      cut: { state: "failed", size_bytes: 2_000_000, source: broken },
      text: { state: "failed", state_detail: "text.gguf: not a GGUF file" },
      missing: { state: "failed", state_detail: "missing.gguf: no such file", size_bytes: 0 },
      pictures: {
        ...{ state: "ready", source: pictures, prompt_bar: "batch", defaults: {} },
        ...{ input_modalities: ["text"], output_modalities: ["image"] },
      },
      "cut-unet": { state: "failed" },
      "no-decoder": { state: "failed", state_detail: "vae_decoder/model.onnx: is missing" },
      "other-layout": { state: "failed" },
    });
    expect(byId["cut-unet"]?.state_detail).toMatch(
      /^unet\/model\.onnx: is cut short: it has 2000 /,
    );
    expect(byId["other-layout"]?.state_detail).toMatch(
      /^model_index\.json: _class_name: pipeline FluxPipeline is not supported, only /,
    );
    expect(byId.cut?.state_detail).toMatch(/^cut\.gguf: .*(corrupted|incomplete|bounds)/);

    const chat = await runHere(["chat", "hello", "--server", `unix:${socket}`, "-m", "tiny"]);
    expect(chat.code).toBe(0);
    const other = await runHere(["chat", "hello", "--server", `unix:${socket}`, "-m", "text"]);
    expect(other).toMatchObject({ code: 1, stderr: "lintel: text.gguf: not a GGUF file\n" });
    const draw = (model: string) =>
      runHere([
        ...["image", "a circle", "--server", `unix:${socket}`, "-m", model, "--steps", "2"],
        ...["--size", "64x64", "--seed", "1", "--out", join(folder, "picture.png")],
      ]);
    expect(await draw("no-decoder")).toMatchObject({
      code: 1,
      stderr: "lintel: vae_decoder/model.onnx: is missing\n",
    });
    expect((await draw("pictures")).code).toBe(0);
  });

  test("as a table, with what is wrong below", async () => {
    const { code, stdout } = await runHere(["models", "--server", `unix:${socket}`]);
    expect(code).toBe(0);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^MODEL +TASK +STATE +SIZE +CONTEXT +MODALITIES +SOURCE$/);
    expect(lines.find((line) => line.startsWith("tiny"))).toMatch(
      new RegExp(`chat +ready +[\\d.]+ kB +128 +text->text +${tiny}$`),
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

test("a node with too little memory for one model says so, and serves the others", async () => {
  const node = await startNode({
    models: [tiny, trained],
    listen: { host: "127.0.0.1", port: 0 },
    memoryBudget: 3_000_000,
    log: silent,
  });
  const ask = (model: string) => runHere(["chat", "hello", "--server", node.url, "-m", model]);
  const large = await ask("lintel-chat");
  expect(large.code).toBe(1);
  expect(large.stderr).toMatch(/lintel-chat: the model needs about \d+ MB .* budget of 3 MB/);
  expect(await entries(node.url)).toMatchObject([
    {
      ...{ id: "lintel-chat", state: "failed", is_default: false },
      state_detail: expect.stringContaining("budget of 3 MB"),
    },
    { id: "tiny", state: "idle", is_default: true },
  ]);
  expect((await ask("tiny")).code).toBe(0);
  // Who names none gets what can answer.
  expect((await runHere(["chat", "hello", "--server", node.url])).code).toBe(0);
  await node.close(0);
});

describe("a node whose models lie beside what can't be looked at", () => {
  /** What a lazy node on a folder with a model in it lists. */
  async function listed(...paths: readonly string[]): Promise<Entry[]> {
    const node = await startNode({
      models: paths,
      listen: { host: "127.0.0.1", port: 0 },
      load: "lazy",
      log: silent,
    });
    onTestFinished(() => node.close(0));
    for (const { id } of await entries(node.url)) {
      await runHere(["chat", "hello", "--server", node.url, "-m", id]);
      await runHere(["image", "a circle", "--server", node.url, "-m", id]);
    }
    return entries(node.url);
  }

  test("passes over links that lead nowhere, and says so of what it was given", async () => {
    const mixed = join(folder, "mixed");
    mkdirSync(mixed);
    copyFileSync(tiny, join(mixed, "good.gguf"));
    const circle = join(folder, "circle");
    const loop = join(folder, "loop.gguf");
    for (const path of [circle, loop, join(mixed, "circle")]) symlinkSync(path, path);
    symlinkSync(join(mixed, "away"), join(mixed, "dangling"));
    expect(await listed(mixed, circle, loop)).toMatchObject([
      { id: "circle", state: "failed", state_detail: "the model's folder does not exist" },
      { id: "good", state: "ready" },
      { id: "loop", state: "failed", state_detail: "loop.gguf: the file can't be read" },
    ]);
  });

  test("passes over what stands beside models in a folder, and says so of what it was given", async () => {
    const beside = join(folder, "beside");
    mkdirSync(beside);
    const names = ["a.gguf", "mmproj-F16.gguf", "a.mmproj-q8_0.gguf", "imatrix_a.gguf"];
    for (const name of names) copyFileSync(tiny, join(beside, name));
    const given = join(folder, "mmproj-b.gguf");
    writeFileSync(given, "not a model");
    expect(await listed(beside, given)).toMatchObject([
      { id: "a", state: "ready" },
      { id: "mmproj-b", state: "failed", state_detail: "mmproj-b.gguf: not a GGUF file" },
    ]);
  });

  test("passes over folders that it may not read, and says so of what it was given", async ({
    skip,
  }) => {
    skip(process.getuid?.() === 0, "root may read every folder");
    const volume = join(folder, "volume");
    const closed = [join(volume, "lost+found"), join(folder, "closed")];
    for (const path of [volume, ...closed]) mkdirSync(path);
    copyFileSync(tiny, join(volume, "good.gguf"));
    for (const path of closed) chmodSync(path, 0);
    expect(await listed(volume, join(folder, "closed"))).toMatchObject([
      { id: "closed", state: "failed", state_detail: "model_index.json: can't be read (EACCES)" },
      { id: "good", state: "ready" },
    ]);
  });
});
