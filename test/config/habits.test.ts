/** What people write who know other configurations, or YAML only a little: what they are told. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the file says
import { describe, expect, test } from "vitest";
import { mistakes, valid } from "./text.js";

const server = "  - type: openai\n    name: a\n    url: http://a/v1\n";
const kinds = "embedded, openai, node, llama, onnx, sdapi, comfyui, rest or ai-sdk";

describe("syntax", () => {
  const deeper =
    "this line is indented further than the key above it, which has its value: keys of one mapping begin at the same column";
  const pair = 'here "key: value" must stand: a key, a colon, a blank, and the value';
  const colon = "a blank is missing behind the colon";
  const tab = "a tab stands here: lines are indented by blanks";
  const entry =
    "this line belongs to no entry of the list above: a further key begins below the entry's first one, and another entry with a -";
  const space = "(a space on this line is no blank, but looks like one: type it anew)";
  test.each<[string, string, string[]]>([
    [
      "a line that is indented too far",
      "backends:\n  - type: openai\n    name: a\n     url: http://a\n",
      [`4:6: ${deeper}`],
    ],
    [
      "each such line",
      "backends:\n  - type: openai\n     name: a\n     url: http://a\n",
      [`3:6: ${deeper}`, `4:6: ${deeper}`],
    ],
    [
      "a line between the - and the keys behind it",
      `backends:\n${server}   api_key: x\n`,
      [`5:4: ${entry}`],
    ],
    [
      "keys that begin at two columns",
      "auth:\n   mode: token\n  tokens: []\n",
      [
        "3:3: this line begins at another column than those it belongs to: keys of one mapping begin at the same column",
      ],
    ],
    ["= for a colon", "listen = :8080\nmodels: []\n", [`1:1: ${pair}`]],
    ["no blank behind the colon", "listen::8080\nmodels: []\n", [`1:1: ${colon}`]],
    [
      "a colon in a value",
      `backends:\n${server}    api_key: a: b\n`,
      ['5:14: a value with ": " in it must be in quotes, and a further key on its own line'],
    ],
    [
      "a quote without an end",
      `listen: "0.0.0.0:8080'\nbackends:\n${server}`,
      ['1:9: the quote " here has no second one'],
    ],
    [
      "a quote without an end, to the end of the file",
      `backends:\n${server}    api_key: 'a\n`,
      ["5:14: the quote ' here has no second one"],
    ],
    [
      "@ at the beginning",
      "models:\n  - name: @a\n",
      ["2:11: a text that begins with @ must be in quotes"],
    ],
    ["* alone", "cors: { origins: [*] }\n", ["1:19: a text that begins with * must be in quotes"]],
    [
      "* at the beginning",
      "limits:\n  models:\n    - model: *-mini\n",
      ["3:14: no value above has this name (&name); a text that begins with * must be in quotes"],
    ],
    [
      "a space of a web page, before a key and behind a colon",
      `backends:\n${server}\u00a0   api_key: x\n`,
      [`5:1: \u00a0   api_key: unknown key ${space}`],
    ],
    [
      "a space of a web page behind a colon",
      "backends:\n  - type: openai\n    name:\u00a0a\n    url: http://a\n",
      [`3:5: ${pair} ${space}`],
    ],
    [
      "a space of a web page on other lines only",
      "# a\u00a0b\nlisten = 1\nmodels: []\n# c\u00a0d\n",
      [`2:1: ${pair}`],
    ],
    [
      "a mistake behind a mark of the byte order",
      "\ufefflisten = 1\nmodels: []\n",
      [`1:2: ${pair}`],
    ],
    [
      "a key twice, behind others",
      "listen: 1\nauth: {}\nauth: {}\n",
      ["3:1: the key auth stands here a second time"],
    ],
    [
      "a key in quotes twice",
      'auth: {}\n"a b": 1\n"a b": 2\n',
      ["3:1: this key stands here a second time"],
    ],
    [
      "no blank before a #",
      "listen: :80\nlog: { level: info }# c\n",
      ["2:21: a blank is missing before this #"],
    ],
    [
      "a line below a list's -, at its column",
      "backends:\n  - type: openai\n  name: a\n",
      [`3:3: ${entry}`],
    ],
    ["no blank behind the only colon", "auth:\n  mode:public\n", [`2:3: auth: ${colon}`]],
    [
      "an address where a mapping is wanted",
      "state:\n  redis: redis://a\ntelemetry:\n  otlp: http://a:4318\n",
      [
        "2:10: state.redis: must be a mapping (url, sentinels, key_prefix, timeout, tls, on_store_failure, replicas), not text",
        "4:9: telemetry.otlp: must be a mapping (endpoint, headers, protocol, interval, traces, metrics, sample_ratio, content), not text",
      ],
    ],
    [
      "no blank behind a colon in brackets",
      "auth: {mode:public}\n",
      [`1:8: auth.mode:public: unknown key (${colon})`],
    ],
    [
      "no blank behind a -",
      "backends:\n  -type: openai\n   name: a\n",
      ["2:3: a blank is missing behind this -"],
    ],
    ["a tab", "limits:\n\tcaller: {}\n", [`2:1: ${tab}`]],
    ["a tab behind blanks", "limits:\n  caller: {}\n  \tmodels: []\n", [`3:3: ${tab}`]],
    ["a tab in brackets", "limits:\n  caller: {\n\tconcurrent: 1 }\n", [`3:1: ${tab}`]],
    [
      "no comma in braces",
      "limits: { caller: b models: c }\n",
      [
        '1:19: either a comma is missing in this, between a value and the next key, or a value with ": " in it must be in quotes',
      ],
    ],
    [
      "no comma in JSON",
      '{\n  "listen": ":1"\n  "auth": {}\n}\n',
      ["3:3: a comma is missing before this"],
    ],
    [
      "no comma on a line of JSON",
      'auth: {"mode":"public" "x":1}\n',
      ["1:24: a comma is missing before this"],
    ],
    [
      "no comma in a list",
      'cors: { origins: ["a" "b"] }\n',
      ["1:23: a comma is missing before this"],
    ],
    [
      "no colon in braces",
      "limits: { caller { a: 1 } }\n",
      ["1:18: a comma or a colon is missing before this"],
    ],
    [
      "a comma too many",
      "auth: { mode: a,, tokens: [] }\n",
      ["1:17: there is a comma too many before this"],
    ],
    [
      "a list in brackets",
      "cors: { origins: [- a] }\n",
      ["1:19: inside of brackets a list is written [a, b], without -"],
    ],
    ["{ without an end", "limits: { caller: { a: 3 }\nlisten: 1\n", ["1:9: the { here has no }"]],
    [
      "[ without an end, in a block",
      "backends:\n  - name: [a\n    url: b\n",
      ["2:11: the [ here has no ]"],
    ],
    ["[ without an end, to the end of the file", "[a, b\n", ["1:1: the [ here has no ]"]],
    [
      "a quote behind an escaped one",
      'listen: "a\\"b\nauth: {}\n',
      ['1:9: the quote " here has no second one'],
    ],
    [
      "a text of which a part is in quotes",
      'listen: "a" b\n',
      [
        "1:13: the value before this is complete: quotes go around all of it, and a further key on its own line",
      ],
    ],
    [
      "a path of Windows",
      'media: { path: "C:\\models" }\n',
      [
        '1:19: a \\ between " and " begins a sign that can\'t be typed, and none is written like this: write \\\\, or \' instead of "',
      ],
    ],
    ["a key without a value", "listen: 1\nauth\n", [`2:1: ${pair}`]],
    [
      "a list behind its key",
      "backends: - type: openai\n",
      ["1:11: a list begins on the line below its key"],
    ],
    [
      "> in a value",
      "listen: >a\n  b\n",
      [
        "1:10: text of several lines begins on the line below its | or >, and other text with these in quotes",
      ],
    ],
    [
      "% at the beginning of a line",
      "%a\nlisten: 1\n",
      ["2:1: a line above begins with %: no key can"],
    ],
    [
      "what Git leaves where it can't merge",
      "<<<<<<< HEAD\nlisten: 1\n=======\nlisten: 2\n>>>>>>> b\n",
      ["1:1: two versions stand here: Git could not merge them"],
    ],
  ])("%s", (_what, text, expected) => {
    expect(mistakes(text)).toEqual(expected.map((line) => `lintel.yaml:${line}`));
  });

  test("line ends of Windows and a mark of the byte order are no mistakes", () => {
    const text = `\ufefflisten: :8080\nbackends:\n${server}`.replaceAll("\n", "\r\n");
    expect(valid(text).backends).toMatchObject([{ name: "a", url: "http://a/v1" }]);
  });
});

describe("words", () => {
  test.each([
    ["ollama", "openai"],
    ["vLLM", "openai"],
    ["lm-studio", "openai"],
    ["llama.cpp", "openai"],
    ["anthropic", "ai-sdk"],
    ["automatic1111", "sdapi"],
    ["comfy", "comfyui"],
    ["lintel", "node"],
  ])("type: %s", (type, meant) => {
    expect(mistakes(`backends: [{ type: ${type}, name: a }]`)).toEqual([
      `lintel.yaml:1:20: backends[0].type: must be one of ${kinds} (did you mean "${meant}"?)`,
    ]);
  });

  test.each<[string, string, string]>([
    ["base_url", "url", "backends: [{ type: openai, name: a, url: http://a, base_url: x }]"],
    ["api_base", "url", "backends: [{ type: openai, name: a, url: http://a, api_base: x }]"],
    ["url", "address", "backends: [{ type: node, name: a, address: http://a, url: x }]"],
    ["rpm", "requests_per_minute", "limits: { caller: { rpm: 1 } }"],
    ["max_parallel_requests", "concurrent", "limits: { caller: { max_parallel_requests: 1 } }"],
    ["num_retries", "attempts", "routing: { retry: { num_retries: 1 } }"],
    ["model_name", "name", "models: [{ name: a, model_name: b }]"],
    ["port", "listen", "port: 8080"],
  ])("%s for %s", (word, meant, text) => {
    const [line, ...more] = mistakes(text);
    expect(line).toMatch(new RegExp(`\\b${word}: unknown key \\(did you mean "${meant}"\\?\\)$`));
    expect(more).toEqual([]);
  });

  test("what LiteLLM has at the top of its file", () => {
    const there = "unknown key (LiteLLM's: docs/openai.md tells what takes its place)";
    expect(mistakes("model_list: []\nlitellm_settings: {}\n")).toEqual([
      `lintel.yaml:1:1: model_list: ${there}`,
      `lintel.yaml:2:1: litellm_settings: ${there}`,
    ]);
  });
});

describe("values", () => {
  test.each<[string, string, string]>([
    [
      "a number in quotes",
      'limits: { caller: { concurrent: "20" } }',
      "limits.caller.concurrent: must be a whole number, 0 or more, or unlimited: write it without quotes",
    ],
    [
      "another number in quotes",
      'bounds: { width: { max: "512" } }',
      "bounds.width.max: must be a number, not text: write it without quotes",
    ],
    [
      "a number in quotes for a word",
      'log: { level: "5" }',
      "log.level: must be one of trace, debug, info, warn, error, fatal or silent",
    ],
    [
      "a number for a text",
      "backends: [{ type: openai, name: a, url: http://a, api_key: 123 }]",
      "backends[0].api_key: must be text, not a number: put it in quotes",
    ],
    [
      "a number for a few keys",
      "limits: { caller: { budget: 50 } }",
      "limits.caller.budget: must be a mapping (amount, period), not a number",
    ],
    [
      "names as keys",
      "models: { chat: { model: a } }",
      "models: must be a list (each entry begins with a - and a blank), not a mapping",
    ],
    ["a text for a list", "models: a", "models: must be a list, not text"],
    ["a list for a text", "models: [{ name: [a] }]", "models[0].name: must be text, not a list"],
    [
      "a number for six keys",
      "routing: 5",
      "routing: must be a mapping (affinity, affinity_header, max_in_flight, queue, retry, health, hedge), not a number",
    ],
    ["a number for many keys", "bounds: 5", "bounds: must be a mapping, not a number"],
    [
      "a list for names",
      "backends: [{ type: openai, name: a, url: http://a, headers: [b] }]",
      "backends[0].headers: must be a mapping, not a list",
    ],
  ])("%s", (_what, text, expected) => {
    expect(mistakes(text).map((line) => line.replace(/^\S+ /, ""))).toEqual([expected]);
  });

  test("Bearer before a key, which is put there anyway", () => {
    const text = `safety: { checker: { type: moderation, url: "http://a", api_key: "bearer a" } }
backends:
  - { type: openai, name: a, url: "http://a", api_key: "Bearer sk-a" }
  - { type: rest, name: b, url: "http://a", token: "Bearer a", models: [{ id: c, task: chat }] }
  - { type: node, name: d, address: "http://a", token: "\${TOKEN}" }
`;
    const alone = "must be the key alone: Bearer is put before it";
    expect(mistakes(text, { TOKEN: "Bearer a" })).toEqual([
      `lintel.yaml:1:66: safety.checker.api_key: ${alone}`,
      `lintel.yaml:3:56: backends[0].api_key: ${alone}`,
      `lintel.yaml:4:52: backends[1].token: ${alone}`,
      `lintel.yaml:5:56: backends[2].token: ${alone}`,
    ]);
  });

  test("variables as docker-compose writes them", () => {
    const entry = (url: string, key: string) =>
      `backends: [{ type: openai, name: a, url: "${url}", api_key: "${key}" }]`;
    const names = (text: string) => mistakes(text, { HOST: "a", KEY: "b" });
    expect(names(entry("http://$HOST:8000/v1", "$KEY"))).toEqual([
      "lintel.yaml:1:42: backends[0].url: an environment variable is ${HOST} here",
      "lintel.yaml:1:75: backends[0].api_key: an environment variable is ${KEY} here",
    ]);
    // A key may have a $ in it.
    for (const key of ["a$KEY", "$key", "$1", "sk-$", "${NONE:-$KEY}"]) {
      expect(names(entry("http://a", key)), key).toEqual([]);
    }
  });
});
