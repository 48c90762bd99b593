/** Quotas of targets, as they are written. */
import { expect, test } from "vitest";
import { changeOf } from "../../src/config/changes.js";
import { coreSettings } from "../../src/config/settings.js";
import { warningsOf } from "../../src/config/warnings.js";
import { mistakes, valid } from "./text.js";

const backends = `backends:
  - { type: openai, name: a, url: "http://a/v1" }
  - { type: sdapi, name: d, url: "http://d" }
`;
const file = (...targets: string[]) =>
  `${backends}models:\n${targets.map((of, i) => `  - { name: m${i}, targets: [{ ${of} }] }\n`).join("")}`;

test("what the file says reaches the core", () => {
  const text = file("backend: a, requests_per_minute: 500, tokens_per_minute: 200000");
  expect(coreSettings(valid(text)).models[0]?.targets).toEqual([
    { backend: "a", weight: 1, priority: 0, requestsPerMinute: 500, tokensPerMinute: 200_000 },
  ]);
  const [none] = coreSettings(valid(file("backend: a"))).models;
  expect(none?.targets).toEqual([{ backend: "a", weight: 1, priority: 0 }]);
});

test.each([
  ["requests_per_minute: 0", "requests_per_minute: must be at least 1"],
  ["tokens_per_minute: 1.5", "tokens_per_minute: must be a whole number"],
  ["rpm: 5", 'rpm: unknown key (did you mean "requests_per_minute"?)'],
  ["tpm: 5", 'tpm: unknown key (did you mean "tokens_per_minute"?)'],
])("%s is a mistake", (written, said) => {
  expect(mistakes(file(`backend: a, ${written}`))).toEqual([expect.stringContaining(said)]);
});

test("a change applies at once", () => {
  const [now, next] = [1, 2].map((n) => valid(file(`backend: a, requests_per_minute: ${n}`)));
  const change = changeOf(now as never, next as never, false);
  expect(change).toMatchObject({ changed: ["models"], restart: [] });
  expect(change.config.models).toEqual(next?.models);
});

test("one that does nothing is warned of", () => {
  const said = (...targets: string[]) => warningsOf(valid(file(...targets)));
  expect(said("backend: d, model: x, requests_per_minute: 5, tokens_per_minute: 5")).toEqual([
    'models[0].targets[0].tokens_per_minute limits nothing: the backend "d" makes images, which have no tokens',
  ]);
  const one = "backend: a, model: x, requests_per_minute";
  expect(said(`${one}: 5`, `${one}: 9`, "backend: a, model: x")).toEqual([
    "models[1].targets[0].requests_per_minute is more than that of models[0].targets[0], the same model there: the smallest counts",
  ]);
  expect(said(`${one}: 5`, `${one}: 5`, "backend: a, model: y, requests_per_minute: 9")).toEqual(
    [],
  );
  // Without a name each has that of its model.
  const own = "backend: a, requests_per_minute";
  expect(said(`${own}: 5`, `${own}: 9`)).toEqual([]);
});
