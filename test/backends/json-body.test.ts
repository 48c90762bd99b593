import { describe, expect, it } from "vitest";
import { jsonBody } from "../../src/backends/http/json-body.js";
import { parseMarked } from "../../src/core/long-numbers.js";

const text = (body: string | Uint8Array) =>
  typeof body === "string" ? body : Buffer.from(body).toString("utf8");

/** Bodies that are written as bytes, and what makes them long. */
const words = 'say "hä", then\n\\ go → 😀 '.repeat(100);
const long: Readonly<Record<string, object>> = {
  "one long message": { model: "m", messages: [{ role: "user", content: "x".repeat(100_000) }] },
  "many messages": {
    model: "ü",
    messages: Array.from({ length: 60 }, (_, i) => ({ role: "user", content: `${i} ${words}` })),
    stream: true,
  },
  "messages in parts": {
    messages: Array(40).fill({ role: "user", content: [{ type: "text", text: words }] }),
  },
  "letters of three bytes alone": { messages: Array(20).fill({ content: "漢字".repeat(2000) }) },
  "megabytes of such": { messages: Array(4).fill({ content: "漢字".repeat(400_000) }) },
  "many tools, a last field that says nothing, and lists of nothing": {
    messages: [{ content: null }, { content: undefined }],
    stop: [],
    tools: Array(40).fill({ type: "function", function: { name: "f", parameters: [] } }),
    seed: undefined,
  },
  "nothing but undefined behind lists": {
    messages: [...Array(40).fill({ content: words }), { content: undefined }],
    tools: [],
    end: undefined,
  },
};

describe("bodies of requests", () => {
  it.each(Object.entries(long))("are bytes of the same JSON: %s", (_, fields) => {
    const body = jsonBody(fields);
    expect(typeof body).toBe("object");
    expect(text(body)).toBe(JSON.stringify(fields));
  });

  it("are a text where they are short", () => {
    const fields = { model: "m", messages: [{ role: "user", content: "hä" }], tools: undefined };
    expect(jsonBody(fields)).toBe(JSON.stringify(fields));
    expect(jsonBody({ prompt: "x".repeat(100_000) })).toBe(
      JSON.stringify({ prompt: "x".repeat(100_000) }),
    );
  });

  it("have all digits of numbers that JavaScript has none for", () => {
    const schema = '{"enum":[9007199254740993,1e400,-0]}';
    const tools = Array(40).fill({ function: { name: "f", parameters: parseMarked(schema) } });
    const messages = [{ role: "user", content: "x" }];
    const one = `{"function":{"name":"f","parameters":${schema}}}`;
    expect(text(jsonBody({ messages, tools }))).toBe(
      `{"messages":[{"role":"user","content":"x"}],"tools":[${Array(40).fill(one).join(",")}]}`,
    );
  });

  it("stay as they are while others are made", () => {
    const of = (letter: string) => ({ messages: [{ content: letter.repeat(50_000) }] });
    const bodies = ["a", "ü", "c"].map((letter) => jsonBody(of(letter)));
    expect(bodies.map(text)).toEqual(["a", "ü", "c"].map((letter) => JSON.stringify(of(letter))));
  });
});
