/** Chat templates in the configuration. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { missingFiles } from "../../src/config/missing-files.js";
import { mistakes, valid } from "./text.js";

const folder = mkdtempSync(join(tmpdir(), "lintel-templates-"));
afterAll(() => rmSync(folder, { recursive: true }));
const template = "{% for m in messages %}\n{{ m.content }}{% endfor %}";
writeFileSync(join(folder, "good.jinja"), `${template}\n`);
writeFileSync(
  join(folder, "bad.jinja"),
  "{% for m in messages %}\n\n{{ m.content | nothing }}{% endfor %}",
);

const llama = (more: string) =>
  `backends:\n  - type: llama\n    name: c\n    path: a.gguf\n    ${more}\n`;
const embedded = (more: string) => `backends:\n  - type: embedded\n    name: c\n    ${more}\n`;

test("they are read out of files, or stand there", () => {
  const read = valid(llama(`chat_template: \${file:good.jinja}`), {}, folder);
  expect(read.backends).toMatchObject([{ chat_template: template }]);
  const written = valid(embedded(`chat_templates: { a: "{{ messages[0].content }}" }`));
  expect(written.backends).toMatchObject([{ chat_templates: { a: "{{ messages[0].content }}" } }]);
});

test.each([
  [
    "that is the name of a file",
    llama("chat_template: good.jinja"),
    `lintel.yaml:5:20: backends[0].chat_template: must be a Jinja template that works: it has no {{ or {%; \${file:PATH} reads one from a file`,
  ],
  [
    "that does not work",
    llama(`chat_template: \${file:${folder}/bad.jinja}`),
    "lintel.yaml:5:20: backends[0].chat_template: must be a Jinja template that works: line 3: Unknown StringValue filter: nothing",
  ],
  [
    "that is none",
    embedded('chat_templates: { a: "{% if" }'),
    "lintel.yaml:4:26: backends[0].chat_templates.a: must be a Jinja template that works: line 1: Unexpected end of input",
  ],
])("one %s is a mistake with its place, and its line", (_, text, line) => {
  expect(mistakes(text)).toEqual([line]);
});

test("LoRAs are looked for beside the file, and missed by their fields", () => {
  const text = `${llama("loras: [{ path: a.gguf }, { path: /b.gguf, scale: -0.5 }]")}  - { type: embedded, name: e, loras: { m: [{ path: c.gguf }] } }\n`;
  const config = valid(text, {}, folder);
  expect(config.backends).toMatchObject([
    { loras: [{ path: join(folder, "a.gguf") }, { path: "/b.gguf", scale: -0.5 }] },
    { loras: { m: [{ path: join(folder, "c.gguf") }] } },
  ]);
  expect(missingFiles(config)).toEqual(
    expect.arrayContaining([
      `backends[0].loras[0].path: there is no ${join(folder, "a.gguf")} now`,
      "backends[0].loras[1].path: there is no /b.gguf now",
      `backends[1].loras.m[0].path: there is no ${join(folder, "c.gguf")} now`,
    ]),
  );
});
