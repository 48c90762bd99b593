/** What `npm ci --omit=optional` leaves: no engines for models on this machine. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { build, folder } from "./lintel.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const engines = /^(?:node-llama-cpp|onnxruntime-node|@huggingface|@node-llama-cpp)$/;
let installed = "";

beforeAll(() => {
  build();
  installed = folder();
  cpSync(join(root, "dist"), join(installed, "dist"), { recursive: true });
  cpSync(join(root, "package.json"), join(installed, "package.json"));
  mkdirSync(join(installed, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (engines.test(name)) continue;
    symlinkSync(join(root, "node_modules", name), join(installed, "node_modules", name));
  }
});

const entry = () => join(installed, "dist/src/main.js");

test("an engine that a configuration needs is missed by check", () => {
  const cwd = folder({
    "lintel.yaml":
      "backends:\n  - { type: llama, name: a, path: lintel.yaml }\n  - { type: onnx, name: b, path: lintel.yaml }\n",
  });
  const { status, stderr } = spawnSync(process.execPath, [entry(), "check"], {
    cwd,
    encoding: "utf8",
  });
  expect(status).toBe(0);
  expect(stderr).toContain(
    "backends[0].type: llama needs node-llama-cpp and @huggingface/jinja, not installed now",
  );
  expect(stderr).toContain(
    "backends[1].type: onnx needs onnxruntime-node and @huggingface/tokenizers, not installed now",
  );
});
