/** Workflows of ComfyUI in the configuration. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { mistakes, valid } from "./text.js";

const folder = mkdtempSync(join(tmpdir(), "lintel-workflows-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "flux.json");
writeFileSync(
  file,
  JSON.stringify({ "6": { class_type: "CLIPTextEncode", inputs: { text: "" } } }),
);

const entry = (more: string) =>
  `backends:\n  - type: comfyui\n    name: c\n    url: http://127.0.0.1:8188\n    models:\n      - name: flux\n${more}`;

test("a workflow is looked for beside the file, and its map is read", () => {
  const text = entry("        file: flux.json\n        map: { prompt: 6.text }\n");
  const [backend] = valid(text, {}, folder).backends ?? [];
  expect(backend).toMatchObject({
    type: "comfyui",
    models: [{ name: "flux", file, map: { prompt: ["6.text"] }, workflow: "auto" }],
  });
});

test.each([
  [
    "that is not there",
    "        file: no.json\n        map: { prompt: 6.text }\n",
    "lintel.yaml:7:15: backends[0].models[0].file: the workflow no.json does not exist",
  ],
  [
    "that is no file",
    "        file: /dev/zero\n        map: { prompt: 6.text }\n",
    "lintel.yaml:7:15: backends[0].models[0].file: the workflow /dev/zero is a device, not a file",
  ],
  [
    "without the input",
    `        file: ${file}\n        map: { prompt: [6.txt] }\n`,
    `lintel.yaml:7:15: backends[0].models[0].file: the workflow ${file} has no input "txt" at node 6 (CLIPTextEncode), where prompt should go`,
  ],
  [
    "whose map is none",
    `        file: ${file}\n        map: { prompt: text }\n`,
    'lintel.yaml:8:24: backends[0].models[0].map.prompt: must be a node and its input, for example "6.text"',
  ],
  [
    "without a map",
    `        file: ${file}\n`,
    "lintel.yaml:6:9: backends[0].models[0].map: must say where the prompt goes, at least",
  ],
])("a workflow %s is a mistake with its line", (_what, more, line) => {
  expect(mistakes(entry(more))).toEqual([line]);
});
