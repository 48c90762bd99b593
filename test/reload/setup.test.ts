/** What a configuration makes, and that nothing is left of one that can't be used. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { comfyuiSchema } from "../../src/backends/comfyui/schema.js";
import { silent } from "../../src/core/log.js";
import { start } from "../../src/gateway.js";
import { tiny } from "../backends/llama-subject.js";
import { serve } from "../backends/node-peer.js";
import { valid } from "../config/text.js";
import { gateway } from "../support/gateway.js";
import { freePort } from "../support/port.js";

test("where not all models may be in memory, none is loaded before it is wanted, unless that is said", async () => {
  const llama = (name: string, more = "") =>
    `  - { type: llama, name: ${name}, path: "${tiny}"${more} }\n`;
  const backends = `backends:\n${llama("a")}${llama("b", ", load: start")}`;
  const idle = async (text: string) => {
    const { running } = await gateway(text);
    return running.backends.map(({ backend }) => backend.models()[0]?.state === State.IDLE);
  };
  expect(await idle(`memory_budget: 1GiB\n${backends}`)).toEqual([true, false]);
  expect(await idle(backends)).toEqual([false, false]);
});

test("a reload that fails leaves nothing of what it made", async () => {
  const peer = await serve(() => {});
  const left = new Promise<void>((resolve) => {
    peer.server.on("session", (session) => session.on("error", () => {}).on("close", resolve));
  });
  const it = await gateway("backends: []\n");
  const wanted = valid(`backends: [{ type: node, name: gpu, address: "${peer.address}" }]`);
  // Its file was there when the configuration was read.
  const gone = { name: "m", file: "/nowhere/workflow.json", map: { prompt: "6.text" } };
  const comfyui = { type: "comfyui", name: "comfy", url: "http://127.0.0.1:1", models: [gone] };
  const backends = [...(wanted.backends ?? []), comfyuiSchema.parse(comfyui)];
  await expect(it.running.reload({ ...wanted, backends })).rejects.toThrow("workflow.json");
  // The connection of the node that was made beside it.
  await left;
  expect(it.running.backends).toEqual([]);
});

test("a reload that an end overtakes leaves nothing of what it made, and is waited for", async () => {
  const peer = await serve(() => {});
  const left = new Promise<void>((resolve) => {
    peer.server.on("session", (session) => session.on("error", () => {}).on("close", resolve));
  });
  const it = await gateway("backends: []\n");
  const file = join(it.cwd, "workflow.json");
  const save = { class_type: "SaveImage", inputs: {} };
  const text = { class_type: "CLIPTextEncode", inputs: { text: "" } };
  writeFileSync(file, JSON.stringify({ 6: text, 9: save }));
  const models = [{ name: "m", file, map: { prompt: "6.text" } }];
  const comfyui = { type: "comfyui", name: "comfy", url: "http://127.0.0.1:1", models };
  const wanted = valid(`backends: [{ type: node, name: gpu, address: "${peer.address}" }]`);
  const backends = [...(wanted.backends ?? []), comfyuiSchema.parse(comfyui)];
  const told: string[] = [];
  const reload = it.running.reload({ ...wanted, backends }).catch(({ code }) => told.push(code));
  // It has begun, and reads the file.
  for (let i = 0; i < 3; i++) await Promise.resolve();
  await it.running.close(0);
  expect(told).toEqual(["shutting_down"]);
  await reload;
  expect(it.running.backends).toEqual([]);
  await left;
});

test("a start at addresses of which one is in use leaves the others free", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  const used = (taken.address() as { port: number }).port;
  const free = await freePort();
  const { cwd } = await gateway("backends: []\n");
  const config = valid(
    `listen: ["127.0.0.1:${free}", "127.0.0.1:${used}"]\nstate: { directory: ${join(cwd, "other")} }\nbackends: []\n`,
  );
  await expect(start(config, silent)).rejects.toMatchObject({ code: "EADDRINUSE" });
  const next = createServer().listen(free, "127.0.0.1");
  await once(next, "listening");
  next.close();
});
