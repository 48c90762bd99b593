/** Arguments that few models write, by each vendor's own API and SDK: what a client shows is what was written. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { anthropicAt } from "../backends/ai-sdk-subject.js";
import { claude, gemini, googleAt } from "../backends/ai-sdk-thoughts.js";
import { against } from "../backends/openai-calls.js";
import { streamOf } from "../backends/openai-subject.js";
import { opened, serve as upstream } from "../backends/serve.js";
import { cut, type Exchange, type Script } from "../backends/upstream.js";
import { serve } from "../doors/serve.js";

/** Stands in scripts for arguments that `JSON.stringify` can't write. */
const placeholder = { args: "@" };
const inPlace = JSON.stringify(placeholder);

/** Answers as the script does, with such arguments, and in small pieces. */
const writing =
  (script: Script, written: string): Script =>
  (exchange) => {
    const put = (text: string) =>
      text
        .replaceAll(inPlace, () => written)
        .replaceAll(JSON.stringify(inPlace).slice(1, -1), () =>
          JSON.stringify(written).slice(1, -1),
        );
    const other: Partial<Exchange> = {
      request: exchange.request,
      json: () => exchange.json(),
      sendJson: (status, value) =>
        exchange.send(status, { "content-type": "application/json" }, put(JSON.stringify(value))),
      async stream(...events) {
        await exchange.stream();
        const text = events
          .map((it) => (typeof it === "string" ? it : `data: ${JSON.stringify(it)}\n\n`))
          .join("");
        for (const piece of cut(Buffer.from(put(text)), 50)) await exchange.chunk(piece);
      },
      end: () => exchange.end(),
    };
    return script(other as Exchange);
  };

const use = { type: "tool_use", id: "t1", name: "f", input: placeholder };
const vendors: Readonly<Record<string, readonly [Script, (url: string) => Backend]>> = {
  anthropic: [claude(use), anthropicAt],
  google: [
    gemini({ functionCall: { name: "f", args: placeholder } }),
    (url) => googleAt(url, { models: [{ id: "m" }] }),
  ],
};

/** What providers of the AI SDK would round, make null of, or refuse with all of the answer. */
const odd = [
  '{"id":12345678901234567890,"e":1e400,"z":-0,"in":{"ids":[9007199254740993,"9007199254740993"]}}',
  '{"__proto__":{"x":"é😀"},"constructor":{"prototype":1}}',
];

describe.each(Object.entries(vendors))("%s", (_, [script, at]) => {
  test.each(odd.flatMap((args) => [true, false].map((stream) => [args, stream] as const)))(
    "%s, in a stream: %s",
    async (written, stream) => {
      const server = await upstream(writing(script, written));
      const { url } = await serve(opened(at(server.url)));
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
      const tools = [{ type: "function" as const, function: { name: "f" } }];
      const messages = [{ role: "user" as const, content: "Hello" }];
      const { choices } = stream
        ? await client.chat.completions
            .stream({ model: "m", messages, tools })
            .finalChatCompletion()
        : await client.chat.completions.create({ model: "m", messages, tools });
      expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { arguments: written } }]);
    },
  );
});

/** What a server of OpenAI's form streams, and the input that Anthropic's SDK shows of it. */
const inputs: readonly (readonly [written: string, input: unknown])[] = [
  ["", {}],
  [" \n ", {}],
  ["\n{} ", {}],
  ["[1,2]", { rawInvalidInput: [1, 2] }],
  ['"x"', { rawInvalidInput: "x" }],
  ["null", {}],
  [" null\n", {}],
  ["nul", { rawInvalidInput: "nul" }],
  ["nullable", { rawInvalidInput: "nullable" }],
  ["call it", { rawInvalidInput: "call it" }],
  ['{"a":"\\ud83d\\ude00 \\u00e9"}', { a: "😀 é" }],
  ['{"a":1}\n```', { a: 1 }],
  ['{"a":1}}', { a: 1 }],
  ['{"a":1}{"a":2}', { a: 1 }],
];

test.each(inputs)(
  "Anthropic's SDK reads %j out of a stream, and may hand it back",
  async (written, input) => {
    const pieces = [...written].map((letter) => ({ index: 0, function: { arguments: letter } }));
    const named = (index: number, name: string, args = "") => ({
      ...{ index, id: `c${index}`, type: "function", function: { name, arguments: args } },
    });
    const calls = [named(0, "f"), ...pieces, named(1, "g", '{"b":1}')];
    const { backend, bodies } = await against(
      streamOf(
        calls.map((call) => ({ tool_calls: [call] })),
        "tool_calls",
      ),
    );
    const { url } = await serve(backend);
    const { messages } = new Anthropic({ baseURL: url, apiKey: "me", maxRetries: 0 });
    const question = { role: "user" as const, content: "Hello" };
    const asked = { model: "m", max_tokens: 100, messages: [question] };
    const warnings: unknown[] = [];
    const stream = messages.stream(asked).on("streamEvent", (event) => {
      if ("warnings" in event) warnings.push(event.warnings);
    });
    const { content } = await stream.finalMessage();
    expect(content).toMatchObject([{ input }, { input: { b: 1 } }]);
    const hasRest = /\}\s*\S/.test(written.replaceAll(/"[^"]*"/g, ""));
    expect(warnings).toEqual(hasRest ? [[expect.stringMatching(/left out/)]] : []);
    const results = ["c0", "c1"].map((tool_use_id) => ({
      ...{ type: "tool_result" as const, tool_use_id, content: "done" },
    }));
    const next: Anthropic.MessageParam[] = [
      ...[question, { role: "assistant" as const, content }],
      { role: "user", content: results },
    ];
    await messages.stream({ ...asked, messages: next }).finalMessage();
    const [, said] = bodies().at(-1).messages;
    expect(JSON.parse(said.tool_calls[0].function.arguments)).toEqual(input);
  },
);
