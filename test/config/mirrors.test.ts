/** Mirrors of models, as they are configured. */
import { describe, expect, test } from "vitest";
import { coreSettings } from "../../src/config/settings.js";
import { warningsOf } from "../../src/config/warnings.js";
import { mistakes, valid } from "./text.js";

const backends = `
backends:
  - { type: openai, name: a, url: "http://a", models: [m, n], image_models: [pics] }
  - { type: ai-sdk, name: b, package: "@ai-sdk/openai", models: [{ id: m }, { id: draws, task: image }] }
  - { type: llama, name: c, path: m.gguf, id: small }
  - { type: openai, name: d, url: "http://d" }
`;

const entry = (rest: string) => `${backends}models:\n  - { name: m, ${rest} }\n`;

test("what the file says of mirrors reaches the core", () => {
  const { models } = coreSettings(
    valid(`${backends}models:
  - name: m
    backends: [a]
    mirrors: [{ backend: b }, { backend: d, model: other, share: 0.05, max_in_flight: 2 }]
`),
  );
  expect(models[0]?.mirrors).toEqual([
    { backend: "b", share: 1, maxInFlight: 16 },
    { backend: "d", model: "other", share: 0.05, maxInFlight: 2 },
  ]);
});

test.each([
  ["without a name of its own, as the model's", "chat, model: m, backends: [a]", "backend: b"],
  ["another model of all backends", "m", "backend: a, model: n"],
  ["of what only its server knows what it does", "m, backends: [d]", "backend: b, model: draws"],
])("a mirror may be %s", (_what, model, mirror) => {
  const text = `${backends}models:\n  - { name: ${model}, mirrors: [{ ${mirror} }] }\n`;
  expect(mistakes(text)).toEqual([]);
});

describe("mistakes in mirrors", () => {
  test.each<[what: string, text: string, said: string]>([
    [
      "a backend that there is none of",
      "backends: [a], mirrors: [{ backend: dd }]",
      'models[0].mirrors[0].backend: there is no backend "dd" (did you mean',
    ],
    [
      "a model that the backend has not",
      "backends: [a], mirrors: [{ backend: b, model: n }]",
      'models[0].mirrors[0].model: the backend "b" has no model "n"',
    ],
    [
      "no name",
      'backends: [a], mirrors: [{ backend: "" }]',
      "models[0].mirrors[0].backend: must not be empty",
    ],
    [
      "no model, where the backend has none of that name",
      "backends: [a], mirrors: [{ backend: c }]",
      'models[0].mirrors[0].backend: the backend "c" has no model "m"',
    ],
    [
      "one of the targets",
      "targets: [{ backend: a, model: n }, { backend: b }], mirrors: [{ backend: b, model: m }]",
      "models[0].mirrors[0]: is the same as targets[1]; must be another backend or model",
    ],
    [
      "one of the backends",
      "model: n, backends: [d, a], mirrors: [{ backend: a }]",
      "models[0].mirrors[0]: is the same as backends[1]; must be another backend or model",
    ],
    [
      "one of all backends, which calls go to where nothing is said",
      "mirrors: [{ backend: a }]",
      "models[0].mirrors[0]: is one of those that the calls go to, which are all backends; say in backends, or targets, which ones they go to",
    ],
    [
      "twice the same",
      "backends: [a], mirrors: [{ backend: b }, { backend: b, model: m }]",
      "models[0].mirrors[1]: is the same as mirrors[0]; must be unique",
    ],
    [
      "a model that draws, of one that chats",
      "backends: [a], mirrors: [{ backend: b, model: draws }]",
      'models[0].mirrors[0]: makes images, and "m" chats; must be a model of the same kind',
    ],
    [
      "a model that chats, of one that draws",
      "targets: [{ backend: a, model: pics }], mirrors: [{ backend: c, model: small }]",
      'models[0].mirrors[0]: chats, and "m" makes images; must be a model of the same kind',
    ],
    [
      "a model that chats since nothing else is said, where one of the targets makes images",
      "targets: [{ backend: d }, { backend: a, model: pics }], mirrors: [{ backend: b, model: m }]",
      'models[0].mirrors[0]: chats, and "m" makes images; must be a model of the same kind',
    ],
    [
      "a share of more than all",
      "backends: [a], mirrors: [{ backend: b, share: 5 }]",
      "models[0].mirrors[0].share: must be at most 1",
    ],
    [
      "a share below none",
      "backends: [a], mirrors: [{ backend: b, share: -0.1 }]",
      "models[0].mirrors[0].share: must be at least 0",
    ],
    [
      "no call at once",
      "backends: [a], mirrors: [{ backend: b, max_in_flight: 0 }]",
      "models[0].mirrors[0].max_in_flight: must be at least 1",
    ],
    ["no mirror", "backends: [a], mirrors: []", "models[0].mirrors: must not be empty"],
    ["no list", "backends: [a], mirrors: { backend: b }", "models[0].mirrors: must be a list"],
    [
      "another word for it",
      "backends: [a], mirror: [{ backend: b }]",
      'models[0].mirror: unknown key (did you mean "mirrors"?)',
    ],
    [
      "a pattern that stands for nothing",
      'backends: [a], mirrors: [{ backend: d, model: "x-*" }]',
      "models[0].mirrors[0].model: must have no *, since the model's name has none",
    ],
  ])("%s", (_, text, said) => {
    expect(mistakes(entry(text))).toEqual([expect.stringContaining(said)]);
  });
  test("nothing is said of a pattern of the model's, of the same model elsewhere, of what is not known", () => {
    const models = `models:
  - { name: "gpt-*", targets: [{ backend: d }], mirrors: [{ backend: d, model: "new-*" }] }
  - { name: m, backends: [a], mirrors: [{ backend: b }, { backend: d, share: 0 }, { backend: a, model: n }] }
`;
    expect(warningsOf(valid(backends + models))).toEqual([]);
  });
});

test("a price of what a mirror is called is one of its calls", () => {
  const models =
    "models: [{ name: chat, targets: [{ backend: a, model: n }], mirrors: [MIRROR] }]\n";
  const said = (mirror: string) =>
    warningsOf(valid(`${backends}${models.replace("MIRROR", mirror)}prices: [{ model: n }]`));
  expect(said("{ backend: d, model: n }")).toEqual([]);
  expect(said("{ backend: d, model: other }")).toEqual([
    expect.stringContaining('prices[0].model "n" is what a backend calls "chat"'),
  ]);
});
