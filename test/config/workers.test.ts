import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { mistakes, valid } from "./text.js";

const redis = "state: { redis: { url: redis://localhost } }\n";
const remote = "{ type: openai, name: a, url: http://h }";

test("one serves unless more are asked for; auto is one for each core", () => {
  expect(valid("").workers).toBe(1);
  expect(valid("workers: 1\n").workers).toBe(1);
  expect(valid(`workers: 3\n${redis}backends: [${remote}]\n`).workers).toBe(3);
  expect(valid(`workers: auto\n${redis}backends: [${remote}]\n`).workers).toBe(
    availableParallelism(),
  );
});

test.each([
  ["0", "must be at least 1"],
  ["257", "must be at most 256"],
  ["many", "must be a whole number from 1 to 256, or auto"],
  ["[2]", "must be a whole number from 1 to 256, or auto"],
])("%s workers are a mistake", (workers, message) => {
  expect(mistakes(`workers: ${workers}\n${redis}backends: [${remote}]\n`)).toEqual([
    `lintel.yaml:1:10: workers: ${message}`,
  ]);
});

test.each(["2", "auto"])(
  "%s need a place to count together, and no models of their own",
  (workers) => {
    expect(mistakes(`workers: ${workers}\n`)).toEqual([
      "lintel.yaml:1:10: workers: more than one need state.redis, where they count together",
      "lintel.yaml:1:10: workers: more than one need backends: the embedded models would run in each",
    ]);
    const local = "{ type: llama, name: b, path: models/chat/model.gguf }";
    expect(
      mistakes(`workers: ${workers}\n${redis}backends: [${remote}, ${local}]\n`),
    ).toContainEqual(
      expect.stringMatching(
        /^lintel\.yaml:3:\d+: backends\[1\]\.type: its models would be in memory once for each of the workers/,
      ),
    );
  },
);

test("a pipe of Windows is of one process: it is a mistake beside several, wherever they listen", () => {
  const pipe = String.raw`'unix:\\.\pipe\lintel'`;
  const several = `workers: 2\n${redis}backends: [${remote}]\n`;
  const message = "is a pipe, and of one process alone: several need host:port";
  expect(mistakes(`${several}listen: ${pipe}\n`)).toEqual([`lintel.yaml:4:9: listen: ${message}`]);
  const tokens = "tokens: [{ name: a, hash: 'sha256:0' }]";
  expect(
    mistakes(`${several}listen: [":1", ${pipe}]\nadmin: { listen: [${pipe}], ${tokens} }\n`),
  ).toEqual(
    expect.arrayContaining([
      `lintel.yaml:4:16: listen[1]: ${message}`,
      `lintel.yaml:5:19: admin.listen[0]: ${message}`,
    ]),
  );
});
