/** Pairs of settings whose order is wrong. */
import { expect, test } from "vitest";
import { warningsOf } from "../../src/config/warnings.js";
import { valid } from "./text.js";

const said = (text: string) => warningsOf(valid(`${text}\n`));
const pauses = "pauses do not grow from one to the other";
const room = "an answer above that is not kept";

test.each<[string, string]>([
  [
    "routing: { retry: { first_pause: 3s } }",
    `routing.retry.first_pause is more than longest_pause: ${pauses}`,
  ],
  [
    "routing: { health: { longest_pause: 500ms } }",
    `routing.health.first_pause is more than longest_pause: ${pauses}`,
  ],
  ["idempotency: { max_answer: 65MiB }", `idempotency.max_answer is more than max_bytes: ${room}`],
  ["cache: { max_bytes: 1KiB }", `cache.max_answer is more than max_bytes: ${room}`],
])("%s", (text, warning) => {
  expect(said(text)).toEqual([warning]);
});

test.each([
  "{}",
  "routing: { health: { first_pause: 1m } }",
  "idempotency: { max_answer: 65MiB, enabled: false }",
  'idempotency: { max_answer: 65MiB }\nstate: { redis: { url: "redis://a" } }',
  'cache: { max_answer: 65MiB, redis: { url: "redis://a" } }',
])("nothing of %s", (text) => {
  expect(said(text)).toEqual([]);
});
