/** What `|` in a prompt means, where a gateway's operator says so of a model on a node. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { NodeBackend } from "../../src/backends/node/index.js";
import { nodeSchema } from "../../src/backends/node/schema.js";
import type { Backend } from "../../src/core/backend.js";
import { silent } from "../../src/core/log.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { type RunningNode, startNode } from "../../src/node.js";
import { never } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { ParityModels } from "./onnx/parity.js";
import { backendOf, requestOf } from "./onnx/support.js";

let models: ParityModels;
let node: RunningNode;
/** The same model on a node, and in this process. */
let remote: Backend;
let local: Backend;
beforeAll(async () => {
  models = await ParityModels.unpack("sdxl");
  node = await startNode({
    models: [models.folder("sdxl")],
    listen: { host: "127.0.0.1", port: 0 },
    threads: 1,
    log: silent,
  });
  const config = { type: "node", name: "gpu", address: node.url, token: "any" } as const;
  remote = new NodeBackend(nodeSchema.parse(config), { log: silent });
  local = backendOf(models.folder("sdxl"));
  await Promise.all([remote.ready?.("sdxl", never), local.ready?.("sdxl", never)]);
});
afterAll(async () => {
  await remote.close();
  await local.close();
  await node.close(0);
  await models.remove();
});

/** The pictures that a gateway answers, whose operator said this of `|`. */
async function drawn(
  backend: Backend,
  prompt: ModelSettings["prompt"],
  headers: Readonly<Record<string, string>> = {},
) {
  const core = coreOf([backend], { models: [{ name: "sdxl", prompt }] });
  const changes = { modelId: "sdxl", width: 64, height: 64, numInferenceSteps: 1 };
  const request = requestOf({ ...changes, prompt: "a red circle | the blue square" });
  const header = (name: string) => headers[name];
  const [response] = await run(core, "textToImage", request, { header });
  return response?.images.map(({ data }) => Buffer.from(data).toString("hex"));
}

it.each([
  [undefined, 2],
  ["batch", 2],
  ["literal", 1],
  ["encoders", 1],
] as const)("%s draws there what it draws in the gateway's own process", async (prompt, images) => {
  const there = await drawn(remote, prompt);
  expect(there).toHaveLength(images);
  expect(there).toEqual(await drawn(local, prompt));
});

it("is not for a gateway's callers to say", async () => {
  const said = { "x-lintel-prompt": "literal" };
  expect(await drawn(remote, undefined, said)).toEqual(await drawn(remote, undefined));
  expect(await drawn(remote, "encoders", said)).toEqual(await drawn(remote, "encoders"));
});
