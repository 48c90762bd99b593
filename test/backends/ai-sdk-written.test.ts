/** What the `fetch` of AI SDK providers makes of arguments that they would change. */
import { Agent } from "undici";
import { expect, it, onTestFinished, test } from "vitest";
import { guardedFetch } from "../../src/backends/ai-sdk/fetch.js";
import { unwrapped, type WrittenIn } from "../../src/backends/ai-sdk/written.js";
import { Guard } from "../../src/backends/http/guard.js";
import { serve } from "./serve.js";
import type { Script } from "./upstream.js";

const offering = JSON.stringify({ tools: [{ name: "f" }] });
const json = { "content-type": "application/json" };
const written = '{"id":12345678901234567890,"text":"é😀"}';

/** What a vendor answers to a request. */
async function answered(script: Script, body = offering, where: WrittenIn = "always") {
  const { url } = await serve(script);
  const guard = new Guard({ own: [url], allow: [] });
  const dispatcher = new Agent();
  onTestFinished(async () => void (await Promise.all([guard.close(), dispatcher.destroy()])));
  const send = guardedFetch({
    guard,
    connections: { current: dispatcher },
    images: false,
    written: where,
  });
  return send(url, { method: "POST", body });
}

/** A stream of these bytes, one after the other. */
const streaming =
  (text: string): Script =>
  async (exchange) => {
    await exchange.stream();
    for (const byte of Buffer.from(text)) await exchange.chunk(Buffer.of(byte));
    await exchange.end();
  };

/** The arguments in events, as a provider hands them on. */
const argumentsIn = (events: string) =>
  events
    .replace(/^\ufeff/, "")
    .split(/\r\n|\r|\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => unwrapped(JSON.stringify(JSON.parse(line.slice("data:".length)).args)));

const begins = { nothing: "", "a byte order mark": "\ufeff" };
const ends = { LF: "\n", CR: "\r", CRLF: "\r\n" };

test.each(
  Object.entries(begins).flatMap((begin) =>
    Object.entries(ends).map((end) => [begin[0], end[0], begin[1], end[1]] as const),
  ),
)(
  "are kept in a stream that begins with %s, and lines of which end with %s",
  async (_, __, begin, end) => {
    const events = ["data:", "data: "].map((field) => `${field}{"args":${written}}${end}${end}`);
    const answer = await answered(streaming(begin + events.join("")));
    expect(argumentsIn(await answer.text())).toEqual([written, written]);
  },
);

it.each(["\n", "\r", "\r\n"])("an event is handed on once its line ends: %j", async (end) => {
  const { body } = await answered(async (exchange) => {
    await exchange.stream(`data: {"args":${written}}${end}${end}`);
    await exchange.gone;
  });
  const reader = body?.getReader();
  const read = await reader?.read();
  expect(argumentsIn(Buffer.from(read?.value ?? []).toString())).toEqual([written]);
  await reader?.cancel();
});

it("a caller who leaves ends the vendor's call", async () => {
  let gone: Promise<void> | undefined;
  const { body } = await answered(async (exchange) => {
    gone = exchange.gone;
    await exchange.stream(`data: {"args":${written}}\n\n`);
    await exchange.gone;
  });
  await body?.cancel();
  await gone;
});

it.each([
  ["of several lines", `data: {"args":\ndata: ${written}}\n\n`],
  ["that is no JSON", `data: {"args":${written}\n\n`],
  ["nested too deeply", `data: {"args":${written},"x":${"[".repeat(1e5)}${"]".repeat(1e5)}}\n\n`],
  ["of another field", `: {"args":${written}}\nid: {"args":${written}}\n\n`],
])("an event %s is handed on as it is", async (_, event) => {
  const answer = await answered(async (exchange) => {
    await exchange.stream(event);
    await exchange.end();
  });
  expect(await answer.text()).toBe(event);
});

it("an answer without a body has none", async () => {
  const answer = await answered((exchange) => exchange.send(204, json, ""));
  expect([answer.status, await answer.text()]).toEqual([204, ""]);
});

it.each([true, false])(
  "nothing is changed of an answer to a request without tools: %s",
  async (stream) => {
    const said = `{"args":${written}}`;
    const script: Script = async (exchange) => {
      if (!stream) return exchange.send(200, json, said);
      await exchange.stream(`data: ${said}\n\n`);
      await exchange.end();
    };
    const asked = (body: string) => answered(script, body).then((it) => it.text());
    const without = JSON.stringify({ messages: [{ role: "user", content: 'Which "tools"?' }] });
    expect(await asked(without)).toBe(stream ? `data: ${said}\n\n` : said);
    expect(await asked(offering)).not.toContain(`"args":${written}`);
  },
);
