/** An operator's chat template instead of a file's own, and the lines of mistakes in templates. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as jinja from "@huggingface/jinja";
import { describe, expect, it, onTestFinished } from "vitest";
import { boundedTemplate } from "../../src/backends/llama/bounded.js";
import { loadModel } from "../../src/backends/llama/load.js";
import { wrongWithTemplate } from "../../src/backends/llama/own-template.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { say, tiny, tinyWith } from "./llama-subject.js";
import { templates } from "./llama-tool-templates.js";

async function load(path: string, chatTemplate: string) {
  const settings = { path, sequences: 1, gpu: false, contextSize: 4096, chatTemplate } as const;
  const model = await loadModel(settings, { log: silent, signal: never });
  onTestFinished(() => model.close());
  return model;
}

describe("an operator's template", () => {
  const brief = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant] ";

  it("makes the prompts, instead of the one in the file", async () => {
    const loaded = await load(tiny, brief);
    const prompt = loaded.model.detokenize(loaded.tokenize([say("hello")]), true);
    expect(prompt).toContain("[user] hello\n[assistant] ");
    expect(loaded.stops).toEqual([]);
  });

  it("tells of tools where the one in the file does not", async () => {
    const without = await load(tiny, brief);
    expect(without.tools).toBeUndefined();
    const loaded = await load(tiny, templates.hermes);
    expect(loaded.tools?.begin).toBe("<tool_call>");
  });

  it("has a file answer whose own template is broken", async () => {
    const folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "broken.gguf");
    await writeFile(
      path,
      await tinyWith("{% for m in messages %}\n\n{{ m.content | nothing }}{% endfor %}"),
    );
    const settings = { path, sequences: 1, gpu: false } as const;
    await expect(loadModel(settings, { log: silent, signal: never })).rejects.toMatchObject({
      code: "model_not_loaded",
      message: expect.stringMatching(
        /^broken\.gguf: its chat template does not work: line \d+: Unknown /,
      ),
    });
    const loaded = await load(path, brief);
    expect(loaded.tokenize([say("hello")]).length).toBeGreaterThan(0);
  });

  it("that does not work is told as such, with its line", async () => {
    await expect(load(tiny, "a\n{{ messages[0].content | nothing }}")).rejects.toMatchObject({
      message: expect.stringMatching(/^tiny\.gguf: chat_template does not work: line 2: Unknown /),
    });
  });
});

describe("a mistake in a template is told with its line", () => {
  it.each([
    ["a tag that is none", "a\n{% unknown %}\nb", "line 2: Unknown statement type: unknown"],
    ["an expression that is not closed", "{{ 1 }}\n\n{{ m }\n{{ 2 }}", /^line 3: Parser Error: /],
    [
      "a text that is not closed",
      "a\n{% if 1 %}\n{{ 'abc }}\n{% endif %}",
      /^line 3: Unexpected end/,
    ],
    ["a letter that nothing begins with", "a\n\n{{ € }}\nb", /^line 3: Unexpected character: €/],
    ["a loop that never ends", "a\n{% for m in messages %}\nb", /^line 3: it ends in the middle/],
    ["a filter that is none", "{{ 'x\ny' }}\n{{ messages | nothing }}", /^line 3: Unknown /],
    [
      "what a template throws itself, in a macro, behind comments",
      "{#- a\n\n b #}\n{% macro f(x) -%}\n{% if not x %}{% elif x %}\n {{- raise_exception('No!') }}{% endif %}{% endmacro %}\n\n{{ f(1) }}",
      "line 6: No!",
    ],
    [
      "one behind all kinds of statements",
      "{% set a %}\n'{% endset %}{% set b = 1 %}\n{% if a %}{% else %}x{% endif %}{% for x in [] %}y{% else %}\n{% endfor %}\n{% filter upper %}z{% endfilter %}\n{{ raise_exception('No!') }}",
      "line 6: No!",
    ],
    [
      "a condition behind another",
      "{% if false %}\n{% elif messages | nothing %}\n{% endif %}",
      /^line [12]: Unknown /,
    ],
    [
      "a loop without end",
      "a\n{% for a in range(99999) %}{% for b in range(99999) %}\n{{ b }}{% endfor %}{% endfor %}",
      /^line [23]: it does too much/,
    ],
  ])("%s", (_, template, expected) => {
    const wrong = wrongWithTemplate(template);
    if (typeof expected === "string") expect(wrong).toBe(expected);
    else expect(wrong).toMatch(expected);
  });

  it("and one without a mistake has none", () => {
    for (const template of Object.values(templates))
      expect(wrongWithTemplate(template)).toBeUndefined();
  });

  it("but where nothing of the template threw, there is no line", () => {
    const rendering = boundedTemplate(jinja, "{{ 1 }}");
    expect(rendering.lineOf(new Error("another's"))).toBeUndefined();
    expect(rendering.lineOf(undefined)).toBeUndefined();
  });
});
