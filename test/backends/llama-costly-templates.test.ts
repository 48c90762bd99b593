/** Chat templates that files bring: one that does too much ends nothing but itself, all others render as they should. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as jinja from "@huggingface/jinja";
import { describe, expect, it } from "vitest";
import { boundedTemplate } from "../../src/backends/llama/bounded.js";
import { loadModel } from "../../src/backends/llama/load.js";
import { ChatTemplate } from "../../src/backends/llama/template.js";
import { silent } from "../../src/core/log.js";
import { say, tiny } from "./llama-subject.js";

describe("a template that does too much", () => {
  const rendered = (source: string, messages = [say("hello")]) =>
    new ChatTemplate(boundedTemplate(jinja, source), { bos: "", eos: "", control: [] })
      .render(messages)
      .join("");

  it.each([
    [
      "loops in loops",
      "{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}",
    ],
    [
      "loops over what was made once",
      "{% set a = range(30000) %}{% for i in a %}{% for j in a %}{% endfor %}{% endfor %}",
    ],
    ["searches in loops", "{% set a = range(30000) %}{% for i in a %}{{ i in a }}{% endfor %}"],
    [
      "a text that doubles",
      "{% set n = namespace(s='a') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    ],
    [
      "a list that doubles",
      "{% set n = namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
    ],
    [
      "a list of lists that doubles",
      "{% set n = namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}",
    ],
    [
      "macros that call themselves",
      "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(99) }}",
    ],
  ])("is refused: %s", (_, source) => {
    expect(() => rendered(source)).toThrow("it does too much for what it is given");
  });

  it.each([
    ["it has 256 blanks in a row", `{{ 1 }}${" \n".repeat(128)}`],
    ["it has more than 1048576 letters", "{{ 1 }}".repeat(150_000)],
  ])("is refused before it is parsed: %s", (why, source) => {
    expect(() => rendered(source)).toThrow(why);
    expect(rendered(source.slice(0, 210))).not.toBe("");
  });

  it("is refused: a range of two billion", () => {
    expect(() => rendered("{{ range(2000000000) }}")).toThrow(
      "range() has more than 100000 numbers",
    );
    expect(rendered("{{ range(3) }}{{ range(5, 0, -2) }}")).toBe("[0, 1, 2][5, 3, 1]");
  });

  it("is refused alone where only a message makes it", () => {
    const source =
      "{% if messages[0].content == 'loop' %}{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}{% endif %}ok";
    const template = new ChatTemplate(boundedTemplate(jinja, source), {
      ...{ bos: "", eos: "", control: [] },
    });
    expect(template.render([say("hi")])).toEqual(["ok"]);
    expect(() => template.render([say("loop")])).toThrow(
      expect.objectContaining({ code: "invalid_value", param: "messages" }),
    );
  });

  it("is not one that goes through thousands of messages", () => {
    const source =
      "{% for m in messages %}{% if loop.index0 == messages|length - 1 or messages[loop.index0 - 1].role == 'x' %}!{% endif %}{{ (m.role ~ m.content)|trim }}{% endfor %}";
    const messages = Array.from({ length: 5000 }, () => say("a"));
    expect(rendered(source, messages)).toBe(`${"usera".repeat(4999)}!usera`);
  });

  it("is not one as models have them: it renders what the library renders", () => {
    const source = `{%- if not date_string is defined %}{%- if strftime_now is defined %}
{%- set date_string = strftime_now("%Y") %}{%- endif %}{%- endif %}{{ bos_token }}{{ date_string }}
{%- set ns = namespace(last=messages|length - 1, open=True) %}
{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}
{%- if ns.open and message.role == "user" and not message.content.startswith('<x>') %}
{%- set ns.open = False %}{%- set ns.last = index %}{%- endif %}{%- endfor %}
{%- macro turn(m, i=None) %}<{{ m.role }}>{{ m['content'].split('</t>')[-1].lstrip('\n')|trim }}{% if i > ns.last %}!{% endif %}{% endmacro %}
{%- for m in messages if m.role != 'system' %}{{ turn(m, loop.index0) }}{{- m | tojson }}{%- endfor %}
{%- if tools is not none and tools %}{{ tools | length }}{% endif %}{{ range(2) | join(',') }}{{ none is none and True }}`;
    const given = {
      messages: [say("be kind", "system"), say("a</t>\nb"), say("c", "assistant"), say("d")],
      ...{ bos_token: "<s>", add_generation_prompt: true },
    };
    const expected = new jinja.Template(source).render(given);
    expect(expected).toContain("<user>b");
    expect(boundedTemplate(jinja, source).render(given)).toBe(expected);
  });

  it.each([
    [
      "{% for a, b in {1: 2, 4: 8} | dictsort %}{{ a }}{{ b }}{% if 3 <= a %}!{% endif %}{% endfor %}",
      "1248!",
    ],
    ["{{ 2 < 10 }}{{ 'b' in 'abc' and 3 >= 4 }}{{ '2' < 10 }}", "truefalsetrue"],
    [
      "{{ no | trim }}{{ no | length }}{{ no | string }}{{ [1, 2] | length }}{{ ' a ' | trim }}",
      "02a",
    ],
    ["{% for t in tools %}{{ t }}{% endfor %}{% for t in tools if t %}{{ t }}{% endfor %}.", "."],
    [
      "{{ none | string }}{{ [1, {'a': none}] | string }}{{ 'a' | string }}{{ 1.5 | string }}",
      'None[1, {"a": null}]a1.5',
    ],
    ["{% for a, b in [('x', 1), ('y', 2)] %}{{ a }}{{ b }}{% endfor %}", "x1y2"],
    [
      "{{ none | selectattr('a') | list | length }}{{ none | rejectattr('a', 'equalto', '1') | list | length }}{{ [{'a': '1'}, {'a': '2'}] | selectattr('a', 'equalto', '2') | list | length }}",
      "001",
    ],
  ])("is not one that does what Python's take: %s", (source, expected) => {
    expect(rendered(source)).toBe(expected);
  });

  it("does not load, and the error says why", async () => {
    const bytes = await readFile(tiny);
    const at = bytes.indexOf("{{ bos_token }}");
    const source = "{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}";
    bytes.write(source, at);
    bytes.fill(" ", at + source.length, bytes.indexOf("<|assistant|>' }}{% endif %}", at) + 28);
    const folder = await mkdtemp(join(tmpdir(), "lintel-"));
    const path = join(folder, "loops.gguf");
    await writeFile(path, bytes);
    const options = { log: silent, signal: new AbortController().signal };
    try {
      await expect(loadModel({ path, sequences: 1, gpu: false }, options)).rejects.toMatchObject({
        code: "model_not_loaded",
        message: expect.stringMatching(
          /^loops\.gguf: its chat template does not work: line \d+: it does too much for what it is given$/,
        ),
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
