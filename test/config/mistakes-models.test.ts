/** Mistakes in backends, models, bounds and defaults. */
import { describe, expect, test } from "vitest";
import { expectMistakes, type Mistake, mistakes } from "./text.js";

const hash = `sha256:${"ab".repeat(32)}`;

describe("mistakes in backends and models", () => {
  test.each<Mistake>([
    [
      "bounds that no whole number of the contract can be moved to",
      "bounds:\n  temperature: { max: 1.5 }\n  max_tokens: { max: 100.5 }\n  width: { min: 64.5 }\n  prompts: { max: 1.5 }\n  top_k: { min: 3000000000 }\n  min_p: { max: a }\n  top_logprobs: { min: 1 }\n  logit_bias: { min: 1 }\n",
      [
        "lintel.yaml:3:22: bounds.max_tokens.max: must be a whole number",
        "lintel.yaml:4:17: bounds.width.min: must be a whole number",
        "lintel.yaml:5:19: bounds.prompts.max: must be a whole number",
        "lintel.yaml:6:17: bounds.top_k.min: must be at most 2147483647",
        "lintel.yaml:7:17: bounds.min_p.max: must be a number",
        "bounds.top_logprobs.min: unknown key",
        "bounds.logit_bias.min: unknown key",
      ],
    ],
    [
      "a default number of images",
      "models: [{ name: a, defaults: { num_images_per_prompt: 2 } }]",
      ["models[0].defaults.num_images_per_prompt: unknown key; known: temperature,"],
    ],
    [
      "defaults that no request may have",
      "models:\n  - name: a\n    defaults: { temperature: 5, top_p: 0, max_tokens: 0, width: 513, num_inference_steps: 500 }\n",
      [
        "lintel.yaml:3:30: models[0].defaults.temperature: must be from 0 to 2",
        "models[0].defaults.top_p: must be above 0 and at most 1",
        "models[0].defaults.max_tokens: must be at least 1",
        "models[0].defaults.width: must be a multiple of 8 from 64 to 2048",
        "models[0].defaults.num_inference_steps: must be from 1 to 150",
      ],
    ],
    [
      "penalties that no request may have, by another's name",
      "models:\n  - name: a\n    defaults: { repetition_penalty: 0, min_p: 1.5, frequency_penalty: -3, presence_penalty: 3, repeat_penalty: 1.1 }\n",
      [
        "lintel.yaml:3:37: models[0].defaults.repetition_penalty: must be above 0 and at most 2",
        "models[0].defaults.min_p: must be from 0 to 1",
        "models[0].defaults.frequency_penalty: must be from -2 to 2",
        "models[0].defaults.presence_penalty: must be from -2 to 2",
        'models[0].defaults.repeat_penalty: unknown key (did you mean "repetition_penalty"?)',
      ],
    ],
    [
      "a default that no whole number of the contract is",
      "models: [{ name: a, defaults: { max_tokens: 3000000000 } }]\n",
      ["lintel.yaml:1:45: models[0].defaults.max_tokens: must be at most 2147483647"],
    ],
    [
      "an effort that there is not, or that is no default among numbers",
      "models:\n  - { name: a, reasoning_effort: huge }\n  - { name: b, effort: high }\n  - { name: c, defaults: { reasoning_effort: low } }\n",
      [
        "lintel.yaml:2:34: models[0].reasoning_effort: must be one of none, minimal, low, medium, high, xhigh or max",
        'lintel.yaml:3:16: models[1].effort: unknown key (did you mean "reasoning_effort"?)',
        "models[2].defaults.reasoning_effort: unknown key; known: temperature,",
      ],
    ],
    [
      "defaults beyond wider bounds",
      "bounds: { width: { max: 4096 }, temperature: { min: 1 } }\nmodels: [{ name: a, defaults: { width: 8000, temperature: -1 } }]\n",
      [
        "models[0].defaults.width: must be a multiple of 8 from 64 to 4096",
        "models[0].defaults.temperature: must be from 0 to 2",
      ],
    ],
    [
      "addresses that are none",
      `state: { database: "postgres://[" }
backends:
  - { type: node, name: a, address: "http://gpu:99999" }
  - { type: node, name: b, address: "http://[" }
  - { type: node, name: c, address: "unix://host/a.sock" }
  - { type: openai, name: d, url: "http://d", allow_hosts: ["http://10.0.0.5:99999"] }
`,
      [
        "lintel.yaml:1:20: state.database: must be sqlite, or an address such as postgres://user@host/name",
        "lintel.yaml:3:37: backends[0].address: must be http://host:port, https://host or unix:/path",
        "backends[1].address: must be http://host:port",
        "backends[2].address: must be http://host:port",
        "backends[3].allow_hosts[0]: must be a host (cdn.example.com, *.example.com) or an origin",
      ],
    ],
    [
      "a node's password in its address, and a token on two lines",
      'backends: [{ type: node, name: a, address: "http://me:pass@h", token: "a\\nb" }]',
      [
        "backends[0].address: must carry no user and password: put them into token",
        "backends[0].token: must be a header's value on one line",
      ],
    ],
    [
      "a query that would be lost",
      `safety: { checker: { type: moderation, url: "http://h/v1?a=1" } }
backends:
  - { type: sdapi, name: a, url: "http://h/?key=a" }
  - { type: comfyui, name: b, url: "http://h/#a" }
  - { type: rest, name: c, url: "http://h?a", models: [{ id: a, task: chat }] }
`,
      [
        "safety.checker.url: must have no query and no fragment",
        "backends[0].url: must have no query and no fragment",
        "backends[1].url: must have no query and no fragment",
        "backends[2].url: must have no query and no fragment",
      ],
    ],
    [
      "a password without a user",
      'backends: [{ type: sdapi, name: a, url: "http://h", password: abc }]',
      ["lintel.yaml:1:12: backends[0].username: is required where there is a password"],
    ],
    [
      "fields that no request has",
      `backends:
  - { type: rest, name: a, url: "http://h", models: [{ id: a, task: chat, supports: [temprature] }] }
  - { type: node, name: b, address: "http://h", models: [{ id: a, task: chat, supports: [b] }] }
`,
      [
        "backends[0].models[0].supports[0]: must be a request field",
        "backends[1].models[0].supports[0]: must be a request field",
      ],
    ],
    [
      "a backend's model twice",
      `backends:
  - { type: rest, name: a, url: "http://h", models: [{ id: m, task: chat }, { id: m, task: image }] }
  - { type: comfyui, name: b, url: "http://h", models: [{ name: m }, { name: m, checkpoint: c }] }
  - { type: openai, name: c, url: "http://h", models: [m, m], image_models: [m] }
`,
      [
        "lintel.yaml:2:83: backends[0].models[1].id: is the same as that of backends[0].models[0]; must be unique",
        "backends[1].models[1].name: is the same as that of backends[1].models[0]; must be unique",
        "backends[2].models[1]: is the same as backends[2].models[0]; must be unique",
      ],
    ],
    [
      "a kind of backend",
      "backends:\n  - name: a\n    type: opnai\n    url: http://a\n",
      [
        'lintel.yaml:3:11: backends[0].type: must be one of embedded, openai, node, llama, onnx, sdapi, comfyui, rest or ai-sdk (did you mean "openai"?)',
      ],
    ],
    [
      "no kind of backend",
      "backends:\n  - name: a\n",
      [
        "lintel.yaml:2:5: backends[0].type: is required: embedded, openai, node, llama, onnx, sdapi, comfyui, rest or ai-sdk",
      ],
    ],
    [
      "a field of a backend",
      "backends:\n  - type: openai\n    name: a\n    ulr: http://a\n",
      [
        "lintel.yaml:2:5: backends[0].url: is required: an http:// or https:// address",
        'lintel.yaml:4:5: backends[0].ulr: unknown key (did you mean "url"?)',
      ],
    ],
    [
      "a backend's model without its id, where another one is looked for there",
      "backends: [{ type: rest, name: a, url: http://127.0.0.1:1, models: [{ id: 5, task: chat }] }]\nmodels: [{ name: b, backends: [a] }]\n",
      ["backends[0].models[0].id: must be text, not a number"],
    ],
    [
      "a backend's name twice",
      "backends:\n  - { type: embedded, name: a }\n  - { type: embedded, name: a }\n",
      ["lintel.yaml:3:29: backends[1].name: is the same as that of backends[0]; must be unique"],
    ],
    [
      "a model's name twice",
      "models:\n  - name: a\n  - name: a\n",
      ["lintel.yaml:3:11: models[1].name: is the same as that of models[0]; must be unique"],
    ],
    [
      "what is no text: of two of these none is the same as the other",
      "models:\n  - { name: a, aliases: [3, 4], backends: [1, 2] }\n  - { name: b, targets: [{}, {}] }\n",
      [
        "models[0].aliases[0]: must be text, not a number",
        "models[0].aliases[1]: must be text, not a number",
        "models[0].backends[0]: must be text, not a number",
        "models[0].backends[1]: must be text, not a number",
        "models[1].targets[0].backend: is required",
        "models[1].targets[1].backend: is required",
      ],
    ],
    [
      "a backend that is not there",
      "backends:\n  - { type: embedded, name: local }\nmodels:\n  - name: a\n    backends: [locl]\n",
      [
        'lintel.yaml:5:16: models[0].backends[0]: there is no backend "locl" (did you mean "local"?)',
      ],
    ],
    [
      "a model that a backend has not, which names its models itself",
      "backends: [{ type: comfyui, name: c, url: http://127.0.0.1:1, models: [{ name: flux }] }]\nmodels: [{ name: flx, backends: [c] }]\n",
      [
        'lintel.yaml:2:34: models[0].backends[0]: the backend "c" has no model "flx" (did you mean "flux"?)',
      ],
    ],
    [
      "a default model that is not there",
      "default_models: { chat: gpt }\nbackends:\n  - { type: openai, name: a, url: http://a, models: [gtp] }\n",
      ['lintel.yaml:1:25: default_models.chat: there is no model "gpt" (did you mean "gtp"?)'],
    ],
    [
      "patterns of models that nothing fits",
      `limits: { models: [{ model: "a*b*" }] }\nprices: [{ model: "**" }]\nauth: { tokens: [{ name: a, hash: "${hash}", models: ["*-mini", "*x*"] }] }\n`,
      [
        "lintel.yaml:1:29: limits.models[0].model: must have at most one *",
        "lintel.yaml:2:19: prices[0].model: must have at most one *",
        "auth.tokens[0].models[1]: must have at most one *",
      ],
    ],
    [
      "several stars in the names of a model",
      "backends: [{ type: openai, name: a, url: http://a }]\nmodels:\n  - { name: g-*, aliases: [h-*-*], model: i-*-* }\n  - { name: j-*, targets: [{ backend: a, model: k*l* }] }\n",
      [
        "models[0].aliases[0]: must have at most one *",
        "models[0].model: must have at most one *",
        "models[1].targets[0].model: must have at most one *",
      ],
    ],
    [
      "patterns for names of a backend's models",
      "backends:\n  - { type: openai, name: a, url: http://127.0.0.1:1, models: [a], image_models: [sd, flux-*] }\n  - { type: rest, name: b, url: http://127.0.0.1:1, models: [{ id: c-*, task: chat }] }\n  - { type: embedded, name: c, models: [folder/*.gguf] }\n  - { type: comfyui, name: d, url: http://127.0.0.1:1, models: [{ name: e-* }] }\n",
      [
        "lintel.yaml:2:87: backends[0].image_models[1]: must be the name of a model; a * stands for nothing here",
        "lintel.yaml:3:68: backends[1].models[0].id: must be the name of a model; a * stands for nothing here",
        "lintel.yaml:4:41: backends[2].models[0]: must be a file, or a folder, of which all models are taken; a * stands for nothing here",
        "lintel.yaml:5:73: backends[3].models[0].name: must be the name of a model; a * stands for nothing here",
      ],
    ],
    [
      "a least number of prompts",
      "bounds:\n  prompts: { min: 2 }\n",
      ["lintel.yaml:2:14: bounds.prompts.min: unknown key; known: max"],
    ],
    [
      "bounds that cross",
      "bounds:\n  width: { min: 512, max: 64 }\n",
      ["lintel.yaml:2:10: bounds.width: min 512 must not be greater than max 64"],
    ],
  ])("%s", expectMistakes);
});

test.each([
  ["bounds that leave one value", "bounds:\n  width: { min: 512, max: 512 }\n"],
  [
    "a default model that a server may have whose models are not listed",
    `default_models: { chat: m }
backends:
  - { type: openai, name: a, url: "http://h", models: [x] }
  - { type: openai, name: b, url: "http://h" }
`,
  ],
  ...["model: m, backends: [b]", "targets: [{ backend: b, model: m }]"].map(
    (at): [string, string] => [
      `a default model that one backend has by its own name, and another under one of an entry: ${at}`,
      `default_models: { chat: m }
backends:
  - { type: openai, name: a, url: "http://h", models: [m] }
  - { type: openai, name: b, url: "http://h", models: [m] }
models: [{ name: small, ${at} }]
`,
    ],
  ),
])("no mistake: %s", (_, text) => {
  expect(mistakes(text)).toEqual([]);
});
