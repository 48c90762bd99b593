/** Events are lines, and readers differ in where a line ends. */
import { describe, expect, test } from "vitest";
import type { Handlers } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import { doneEvent, imageEvent, inlineImage, progressEvent } from "../../src/core/image-events.js";
import { piece, png, says, scripted } from "../support/scripted.js";
import { eventsOf, hello, serve } from "./serve.js";

/** Where Python's `str.splitlines` ends a line, by which httpx reads streams. */
const ends = "\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029";
const text = `a${[...ends].join("b")}c`;
const broken = new LintelError("upstream_failed", text);

const chats = ["/llm", "/v1/chat/completions"].map((path) => [path, hello()] as const);
const image = ["/text-to-image", { prompt: "a cat" }] as const;

describe.each([
  ["a text", chats, { chat: says(text) }],
  [
    "a warning",
    [...chats, image],
    {
      async *chat() {
        yield [{ ...piece("Hi"), warnings: [text] }, piece("", "stop", [1, 1])];
      },
      async *streamTextToImage() {
        yield [imageEvent(0, inlineImage(png(1), 1)), doneEvent([text])];
      },
    },
  ],
  [
    "an error",
    [...chats, image],
    {
      async *chat() {
        yield [piece("Hi")];
        throw broken;
      },
      async *streamTextToImage() {
        yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2 })];
        throw broken;
      },
    },
  ],
] satisfies [string, (readonly [string, object])[], Handlers][])(
  "%s with ends of lines in it is in one line",
  (_name, requests, handlers) => {
    test.each(requests)("%s", async (path, body) => {
      const server = await serve(scripted(handlers));
      const response = await server.post(path, { ...body, stream: true });
      const stream = await response.text();
      for (const line of stream.split(new RegExp(`[${ends}]`)))
        expect(line).toMatch(/^(data: .*)?$/);
      const said: unknown[] = [];
      for (const event of eventsOf(stream).slice(0, -1)) {
        JSON.parse(event, (_key, value) => said.push(value));
      }
      expect(said).toContain(text);
    });
  },
);
