/** Limits and prices of names under which no call counts: what is said of them. */
import { expect, test } from "vitest";
import { warningsOf } from "../../src/config/warnings.js";
import { valid } from "./text.js";

const models = `
backends: [{ type: openai, name: a, url: "http://a/v1" }]
models:
  - { name: chat, aliases: [old, "gpt-3.5-*"], targets: [{ backend: a, model: vendor/m }] }
  - { name: short, model: n }
  - { name: "own/*", model: "vendor/*" }
`;

const said = (lists: string) => warningsOf(valid(models + lists));

test.each([
  ["old", 'is an alias of "chat": say "chat", by which its calls count'],
  ["gpt-3.5-turbo", 'is an alias of "chat": say "chat", by which its calls count'],
  ["gpt-3.5-*", 'is an alias of "chat": say "chat", by which its calls count'],
  ["vendor/m", 'is what a backend calls "chat": say "chat", by which its calls count'],
  ["n", 'is what a backend calls "short": say "short", by which its calls count'],
])("a limit or a price of %s alone is never looked at", (name, why) => {
  const other = "prices: [{ model: other }]";
  expect(said(`limits: { models: [{ model: "${name}", concurrent: 1 }] }\n${other}`)).toEqual([
    `limits.models[0].model ${JSON.stringify(name)} ${why}`,
  ]);
  expect(said(`prices: [{ model: other }, { model: "${name}" }]`)).toEqual([
    `prices[1].model ${JSON.stringify(name)} ${why}`,
  ]);
  const team = `{ name: red, limits: { models: [{ model: "${name}", concurrent: 1 }] } }`;
  expect(said(`auth: { mode: token, teams: [${team}] }`)).toEqual([
    `auth.teams[0].limits.models[0].model ${JSON.stringify(name)} ${why}`,
  ]);
});

test.each(["chat", "c*", "*", "own/m", "own/x*", "vendor/x", "else"])(
  "of a limit or a price of %s nothing is said",
  (name) => {
    expect(said(`limits: { models: [{ model: "${name}", concurrent: 1 }] }`)).toEqual([]);
    expect(said(`prices: [{ model: "${name}" }]`)).toEqual([]);
  },
);

test("an alias goes before a wildcard", () => {
  const every = models.replace("own/*", "*");
  const { length } = warningsOf(valid(`${every}prices: [{ model: old }, { model: vendor/m }]`));
  expect(length).toBe(1);
});

test("a price of a backend that is not there is never looked at", () => {
  const price = (backend: string) => `prices: [{ model: chat, target: { backend: ${backend} } }]`;
  expect(said(price("a"))).toEqual([]);
  expect(said(price("aa"))).toEqual([
    'prices[0].target.backend: there is no backend "aa" (did you mean "a"?), so that it is the price of no call here',
  ]);
  // Where the file lists none, those that are found.
  expect(warningsOf(valid(price("ollama")))).toEqual([]);
  expect(warningsOf(valid(price("olama")))).toHaveLength(1);
});

test("a table of prices may have it beside the name which counts, limits may not", () => {
  const both = "[{ model: old }, { model: chat }]";
  expect(said(`prices: ${both}`)).toEqual([]);
  expect(said(`limits: { models: ${both} }`)).toHaveLength(1);
  expect(said('prices: [{ model: old }, { model: "*" }]')).toHaveLength(1);
});
