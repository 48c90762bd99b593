/** Arguments that few models write, by each vendor's own API and SDK: what a client shows is what was written. */
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { anthropicAt } from "../backends/ai-sdk-subject.js";
import { claude, gemini, googleAt } from "../backends/ai-sdk-thoughts.js";
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
