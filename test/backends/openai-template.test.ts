/** Chunks that are read by their template are read as if they had been parsed. */
import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { CompletionStream } from "../../src/backends/completions/stream.js";
import { ChunkTemplate, contents } from "../../src/backends/completions/template.js";

const chunk = (content: unknown, more: object = {}) =>
  JSON.stringify({
    id: "c1",
    created: 7,
    model: "m",
    choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null, ...more }],
  });

const texts = ["Hello", ' wor"ld', "\\", "\n{}", "ä🙂", '"},"finish_reason":"stop"', "x"];

/** The texts of a stream, and why it ended. */
function read(...events: string[]) {
  const stream = new CompletionStream();
  const out: LLMResponse[] = [];
  for (const data of events) stream.push({ data, failed: false }, out);
  stream.finish(out);
  return out.map(({ choices: [choice] }) => choice?.delta?.content + (choice?.finishReason ?? ""));
}

describe("a template", () => {
  test("gives any text of chunks that are alike", () => {
    const template = new ChunkTemplate(contents);
    expect(template.textOf(chunk("Hello"))).toBeUndefined();
    template.learn(chunk("Hello"), "Hello");
    for (const text of texts) expect(template.textOf(chunk(text))).toBe(text);
  });

  test("leaves chunks that say more, or are no JSON, to the parser", () => {
    const template = new ChunkTemplate(contents);
    template.learn(chunk("Hello"), "Hello");
    const whole = chunk("Hello");
    const others = [
      chunk(null),
      chunk(["Hello"]),
      chunk("Hello", { finish_reason: "stop" }),
      whole.replace('"Hello"', '"Hel"lo"'),
      whole.replace('"Hello"', '"Hello","content":"again"'),
      whole.replace('"Hello"', '"a"}},{"delta":{"content":"b"'),
      whole.slice(0, -1),
      `${whole} `,
      "",
    ];
    for (const other of others) expect(template.textOf(other), other).toBeUndefined();
  });

  test("is not learned where the text stands in another member", () => {
    const template = new ChunkTemplate(contents);
    const odd = JSON.stringify({
      content: "Hello",
      choices: [{ delta: { text: { content: "Hello" } } }],
    });
    template.learn(odd, "Hello");
    expect(template.textOf(odd)).toBeUndefined();
  });
});

test("a stream reads the same whatever its chunks have in common", () => {
  const alike = texts.map((text) => chunk(text));
  const each = texts.map((text, i) => chunk(text, { nth: i }));
  const end = chunk("", { finish_reason: "stop" });
  expect(read(...alike, end)).toEqual([...texts, "stop"]);
  expect(read(...each, end)).toEqual([...texts, "stop"]);
  const mixed = alike.flatMap((data, i) => [data, each[i] ?? ""]);
  expect(read(...mixed, end)).toEqual([...texts.flatMap((text) => [text, text]), "stop"]);
});

test("a refusal after text, and beside it, is read", () => {
  const both = (content: string | null, refusal: string | null) =>
    JSON.stringify({ choices: [{ index: 0, delta: { content, refusal }, finish_reason: null }] });
  const end = '{"choices":[{"delta":{},"finish_reason":"stop"}]}';
  const events = [
    both("a", null),
    both("b", null),
    both(null, "c"),
    both("", "d"),
    both("e", null),
  ];
  expect(read(...events, end)).toEqual(["a", "b", "c", "d", "e", "stop"]);
  // Nothing is learned of a chunk whose text is not all that it says.
  expect(read(both("a", "b"), both("", "b"), end)).toEqual(["ab", "b", "stop"]);
});

test("an empty text adds no message, and one in another spelling is understood", () => {
  const spaced = (text: string) => `{"choices": [{"delta": {"content": ${text}}}]}`;
  const events = [spaced('"a"'), spaced('""'), spaced('"\\u0062"'), spaced('"c"')];
  const end = '{"choices": [{"delta": {}, "finish_reason": "length"}]}';
  expect(read(...events, end)).toEqual(["a", "b", "c", "length"]);
});
