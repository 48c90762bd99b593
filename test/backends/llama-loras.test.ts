/** LoRAs of GGUF models. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { silent } from "../../src/core/log.js";
import { startNode } from "../../src/node.js";
import { type Adapter, adapter } from "./llama-lora.js";
import { answer, backendFor, chatRequest, tiny } from "./llama-subject.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileOf(name: string, of: Adapter): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, adapter(of));
  return path;
}

const q = {
  weights: { "blk.0.attn_output.weight": [32, 32], "blk.1.ffn_down.weight": [64, 32] },
} as const;

async function told(loras?: object[]): Promise<string> {
  const backend = backendFor(tiny, { loras });
  onTestFinished(() => backend.close());
  return (await answer(backend, chatRequest("hello", { maxTokens: 24 }))).text;
}

describe("a LoRA", () => {
  it("changes what a model says, as much as its scale says, and others besides", async () => {
    const path = await fileOf("some.gguf", q);
    const other = await fileOf("other.gguf", { weights: { "blk.0.attn_v.weight": [32, 32] } });
    const plain = await told();
    const changed = await told([{ path }]);
    expect(changed).not.toBe(plain);
    expect(await told([{ path, scale: 1 }])).toBe(changed);
    expect(await told([{ path, scale: 0 }])).toBe(plain);
    expect(await told([])).toBe(plain);
    const both = await told([{ path }, { path: other, scale: 3 }]);
    expect([plain, changed]).not.toContain(both);
  });

  it.each<[string, string, Adapter | string | undefined, RegExp]>([
    ["that is not there", "none.gguf", undefined, /^tiny\.gguf: loras: none\.gguf: no such file/],
    ["that is none", "text.gguf", "a text", /^tiny\.gguf: loras: text\.gguf: not a GGUF file$/],
    [
      "of another kind of model",
      "gemma.gguf",
      { ...q, architecture: "gemma" },
      /^tiny\.gguf: loras: model arch and LoRA arch mismatch$/,
    ],
    [
      "of other weights",
      "wide.gguf",
      { weights: { "blk.0.attn_q.weight": [64, 32] } },
      /^tiny\.gguf: loras: tensor 'blk\.0\.attn_q\.weight' has incorrect shape/,
    ],
  ])("%s is told as such", async (_, name, of, message) => {
    const path = join(folder, name);
    if (typeof of === "string") await writeFile(path, of);
    else if (of) await fileOf(name, of);
    await expect(told([{ path }])).rejects.toMatchObject({
      code: "model_not_loaded",
      message: expect.stringMatching(message),
    });
  });
});

it("and a template are for models that a node has, or it says that they are not", async () => {
  const path = await fileOf("known.gguf", q);
  const warned: unknown[] = [];
  const node = await startNode({
    models: [tiny],
    listen: { host: "127.0.0.1", port: 0 },
    load: "lazy",
    loras: new Map([
      ["tiny", [{ path }]],
      ["tyni", [{ path }]],
    ]),
    chatTemplates: new Map([
      ["tiny", "{{ messages[0].content }}"],
      ["other", "{{ messages[0].content }}"],
    ]),
    log: { ...silent, warn: (fields: object, text: string) => void warned.push([fields, text]) },
  });
  await node.close(0);
  expect(warned).toEqual([
    [{ model: "other" }, "a chat template is for a chat model that is not here"],
    [{ model: "tyni" }, "a LoRA is for a chat model that is not here"],
  ]);
});
