/** A node with an image classifier: what its gateways get of it. */
import { copyFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { startNode } from "../../src/node.js";
import type { Classifier } from "../../src/node-settings.js";
import { tiny } from "../backends/llama-subject.js";
import { folderOf } from "../backends/onnx/support.js";
import { runHere } from "../cli/here.js";
import { gateway } from "../support/gateway.js";

/** A chat model of another name than the image model's. */
const gguf = join(mkdtempSync(join(tmpdir(), "lintel-node-")), "chat.gguf");
copyFileSync(tiny, gguf);

const path = join(import.meta.dirname, "classifier");

async function nodeWith(classifier?: Classifier) {
  const node = await startNode({
    models: [folderOf("tiny"), gguf],
    listen: { host: "127.0.0.1", port: 0 },
    threads: 1,
    classifier,
    log: silent,
  });
  onTestFinished(() => node.close(0));
  return node;
}

async function ask(url: string, more: object = {}) {
  const response = await fetch(`${url}/text-to-image`, {
    method: "POST",
    headers: { authorization: "Bearer me", "content-type": "application/json" },
    body: JSON.stringify({
      ...{ prompt: "a red circle", width: 64, height: 64, num_inference_steps: 2, seed: 1 },
      ...more,
    }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: looked into without its types
  return { status: response.status, body: (await response.json()) as any };
}

const through = (url: string) =>
  gateway(`backends:\n  - { type: node, name: gpu, address: "${url}", token: any }\n`);

test("every picture is checked there, and the gateway believes it", async () => {
  const node = await nodeWith({ path, labels: ["nsfw", "normal"], threshold: 0.5 });
  const { url } = await through(node.url);
  const { body } = await ask(url);
  expect(body.images[0].nsfw).toBe(true);
  const chat = await runHere(["chat", "hello", "--server", node.url, "-m", "chat"]);
  expect(chat.code).toBe(0);
  expect(body.warnings).toBeUndefined();
  expect((await ask(url, { safety_check: false })).body.images[0].nsfw).toBe(false);
});

test("a picture without harm is not flagged, and there is nothing to warn of", async () => {
  const node = await nodeWith({ path, labels: ["nsfw"], threshold: 1 });
  const { body } = await ask((await through(node.url)).url);
  expect(body.images[0].nsfw).toBe(false);
  expect(body.warnings).toBeUndefined();
});

test("without one the gateway says that nothing was checked", async () => {
  const { body } = await ask((await through((await nodeWith()).url)).url);
  expect(body.warnings).toEqual([expect.stringMatching(/^safety_check: no checker is configured/)]);
});

test("one that can't be used refuses what was to be checked", async () => {
  const node = await nodeWith({ path: join(path, "onnx"), labels: ["nsfw"], threshold: 0.5 });
  const { url } = await through(node.url);
  expect(await ask(url)).toMatchObject({
    status: 503,
    body: { error: { message: "the safety check can't be done now" } },
  });
  expect((await ask(url, { safety_check: false })).status).toBe(200);
});

test("the certainty must be a share", async () => {
  for (const share of ["0", "2", "much"]) {
    const args = ["node", "--model", folderOf("tiny"), "--classifier-threshold", share];
    expect(await runHere(args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--classifier-threshold must be a number above 0, to 1"),
    });
  }
});
