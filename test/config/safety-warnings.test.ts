/** Images that nobody looks at: where that is said beforehand. */
import { expect, test } from "vitest";
import { warningsOf } from "../../src/config/warnings.js";
import { valid } from "./text.js";

const backends = {
  chat: "{ type: openai, name: chat, url: 'http://a', models: [m] }",
  paint: "{ type: openai, name: paint, url: 'http://a', models: [n], image_models: [m] }",
  webui: "{ type: sdapi, name: webui, url: 'http://a' }",
  talks: "{ type: ai-sdk, name: talks, package: a, models: [{ id: m }] }",
  draws: "{ type: ai-sdk, name: draws, package: a, models: [{ id: m, task: image }] }",
  own: "{ type: embedded, name: own }",
  brought: "{ type: embedded, name: brought, models: [m] }",
  node: "{ type: node, name: node, address: 'unix:/a' }",
};
const said = (names: (keyof typeof backends)[], safety: string) =>
  warningsOf(valid(`safety: ${safety}\nbackends: [${names.map((name) => backends[name])}]\n`));

test("where harmful images are to be withheld, and nobody can tell which", () => {
  const all = Object.keys(backends) as (keyof typeof backends)[];
  expect(said(all, "{ action: block }")).toEqual([
    'safety.action is block, and there is no safety.checker: nobody looks at images of the backends "paint", "webui", "draws", "own"',
  ]);
  expect(said(["webui"], "{ action: blur }")).toEqual([
    'safety.action is blur, and there is no safety.checker: nobody looks at images of the backend "webui"',
  ]);
});

test("also of the embedded model, without any backends", () => {
  expect(warningsOf(valid("safety: { action: block }\n"))).toEqual([
    expect.stringContaining('images of the backend "embedded"'),
  ]);
});

test.each<[(keyof typeof backends)[], string]>([
  [["webui"], "{ action: flag }"],
  [["webui"], "{ action: block, checker: { type: moderation, url: 'http://a' } }"],
  [["chat", "talks", "brought", "node"], "{ action: block }"],
])("not of %j with %s", (names, safety) => {
  expect(said(names, safety)).toEqual([]);
});
