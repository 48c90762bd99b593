/** Chat templates as Python's Jinja takes them: what models' own do, whatever tools callers have. */
import * as jinja from "@huggingface/jinja";
import { describe, expect, it } from "vitest";
import { boundedTemplate } from "../../src/backends/llama/bounded.js";
import { ChatTemplate } from "../../src/backends/llama/template.js";
import { messageOf } from "../../src/core/chat-messages.js";
import type { JsonObject } from "../../src/core/json.js";
import { form } from "./llama-tool-forms.js";

const render = (source: string, given: Record<string, unknown> = {}) =>
  boundedTemplate(jinja, source).render(given);

describe("a template", () => {
  it.each([
    ["looks for the members of what has one called so", "{{ it.items()|length }}", "2"],
    ["gets one of them", "{{ it.get('keys') }}", "a"],
    ["goes through them", "{% for k, v in it.items() %}{{ k }} {% endfor %}", "items keys "],
    ["writes a list in capitals", "{{ types|upper }}", '["STRING", "NULL"]'],
    ["writes each of a list in capitals", "{{ types|map('upper')|join }}", "STRINGNULL"],
    ["takes blanks off what is no text", "{{ nothing|trim }}{{ 3|trim }}", "None3"],
    ["looks for a list in one", "{{ types in ('string', 'number') }}", "false"],
    ["finds a list in one", "{{ [1, [2]] in [[1, [2]]] }}{{ [1] not in [[2]] }}", "truetrue"],
    ["looks for what is not there in a list", "{{ none.of in ['a'] }}", "false"],
    ["looks for none in a list", "{{ nothing in ['a', none] }}", "true"],
    ["looks for a text in a list", "{{ 'null' in types }}{{ 'a' not in types }}", "truetrue"],
    ["has no member by a list's name", "{{ {'a': 1}[types] is defined }}", "false"],
    ["has no member by no name", "{{ {'a': 1}[it.other] is defined }}", "false"],
    [
      "goes through the members of nothing",
      "{% for k in it.other|items %}{{ k }}{% endfor %}.",
      ".",
    ],
    ["chooses a number", "{{ [3, 1, 2]|min }}{{ [3, 1, 2]|max }}", "13"],
    ["puts values into a text", "{{ '<{}{}>'.format('think', ':a') }}", "<think:a>"],
  ])("%s", (_, source, expected) => {
    const it = { items: ["x"], keys: "a" };
    expect(render(source, { it, types: ["string", "null"], nothing: null })).toBe(expected);
  });
});

describe("a tool", () => {
  const templateOf = (source: string) =>
    new ChatTemplate(boundedTemplate(jinja, source), {
      bos: "",
      eos: "",
      control: [],
      tools: form("<tool_call>"),
    });
  const promptOf = (source: string, parameters: JsonObject) => {
    const tools = [{ type: "function", function: { name: "f", description: "", parameters } }];
    return templateOf(source)
      .render([messageOf("user", "hi")], { tools })
      .join("");
  };
  /** Knows types that are one text each, as Hermes' and GigaChat's do. */
  const strict = `{% macro of(s) %}{{ '<' + s.type + (s.description or '') + '>' }}{% if s.properties %}{% for k, p in s.properties.items() %}{{ k }}{{ of(p) }}{% endfor %}{% endif %}{% if s.type == 'array' %}[{{ of(s['items']) }}]{% endif %}{% endmacro %}
{%- for t in tools or [] %}{{ t.function.name }} {{ of(t.function.parameters) }}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}`;

  it("is told as it is, where its template takes that", () => {
    const parameters = { type: "object", properties: { a: { type: ["string", "null"] } } };
    const source =
      "{{ tools|tojson if tools else '' }}{% for m in messages %}{{ m.content }}{% endfor %}";
    expect(promptOf(source, parameters)).toContain('["string", "null"]');
  });

  it.each([
    ["several types", { type: ["null", "integer"], description: "D" }, "<integerD>"],
    ["no type", {}, "<string>"],
    ["a value", { enum: [null, 2] }, "<number>"],
    [
      "alternatives",
      { anyOf: [{ type: "null" }, { type: "boolean" }], description: "D" },
      "<booleanD>",
    ],
    ["a reference", { $ref: "#/$defs/x" }, "<object>b<string>"],
    ["a reference to nothing", { $ref: "#/$defs/y" }, "<string>"],
    ["a list of some", { items: { type: ["string"] } }, "<array>[<string>]"],
    ["a list of anything", { type: "array", items: true }, "<array>[<string>]"],
    ["anything", true, "<string>"],
  ])("is told in plain words to a template that knows no others: %s", (_, a, told) => {
    const parameters = {
      properties: { a },
      $defs: { x: { type: "object", properties: { b: { type: ["string", "null"] } } } },
    };
    expect(promptOf(strict, parameters)).toBe(`f <object>a${told}hi`);
  });

  it("may be part of itself, over and over", () => {
    const node = Object.fromEntries([..."abcdefghij"].map((name) => [name, { $ref: "#" }]));
    const prompt = promptOf(strict, { type: ["object", "null"], properties: node });
    expect(prompt).toMatch(/^f <object>a<object>a<object>a/);
  });

  it("is no reason for a refusal that is the conversation's", () => {
    const source =
      "{% if messages|length > 1 %}{{ raise_exception('too many') }}{% endif %}{{ tools|tojson if tools }}";
    const tools = [{ type: "function", function: { name: "f", description: "", parameters: {} } }];
    const messages = ["user", "assistant", "user"].map((role) => messageOf(role, "a"));
    expect(() => templateOf(source).render(messages, { tools })).toThrow("refuses them: too many");
  });
});
