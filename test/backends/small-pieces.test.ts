/**
 * Answers that come byte by byte: a piece takes a hundred times its byte of memory, so few are
 * kept until an answer is whole.
 */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { EventSplitter } from "../../src/backends/completions/events.js";
import { beginningOf } from "../../src/backends/completions/form.js";
import { LargeAnswer, piecesOf } from "../../src/backends/http/large.js";
import { ImageBody } from "../../src/backends/openai/images/body.js";
import type { Backend } from "../../src/core/backend.js";
import { never } from "../support/calls.js";
import { chatted, thrownBy } from "./ai-sdk-calls.js";
import { generate } from "./openai-images-calls.js";
import { backendFor, chatRequest } from "./openai-subject.js";
import { picture } from "./picture.js";
import { restAt } from "./rest-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Exchange } from "./upstream.js";

/** Letters of a text, and pieces that are few beside them: what comes with one read, and its rest. */
const letters = 40_000;
const few = 5000;

const said = "0123456789".repeat(letters / 10);

/** The most parts of which something was put together. */
function mostParts(): () => number {
  const concat = vi.spyOn(Buffer, "concat");
  onTestFinished(() => concat.mockRestore());
  return () => Math.max(...concat.mock.calls.map(([parts]) => parts.length));
}

/** An answer of which each byte is a chunk of its own. */
async function sendBytes(exchange: Exchange, status: number, type: string, body: Buffer) {
  await exchange.head(status, { "content-type": type });
  let text = "";
  for (const byte of body) text += `1\r\n${String.fromCharCode(byte)}\r\n`;
  await exchange.raw(Buffer.from(text, "latin1"));
  await exchange.end();
}

const sending = (type: string, body: string, status = 200) =>
  serve((exchange) => sendBytes(exchange, status, type, Buffer.from(body)));

const choices = [
  { index: 0, message: { role: "assistant", content: said }, finish_reason: "stop" },
];
const whole = JSON.stringify({ id: "c", created: 1, model: "m", choices });

async function completed(backend: Backend): Promise<string | undefined> {
  const call = callOf("complete", chatRequest());
  for await (const [message] of backend.handlers.complete?.(call) ?? []) {
    return message?.choices[0]?.message?.content;
  }
  return undefined;
}

describe("a completion", () => {
  it("that is whole", async () => {
    const { url } = await sending("application/json", whole);
    const most = mostParts();
    expect((await completed(opened(backendFor(url)))) === said).toBe(true);
    expect(most()).toBeLessThan(few);
  });

  it("that is whole where a stream was asked for", async () => {
    const { url } = await sending("application/json", whole);
    const most = mostParts();
    expect((await chatted(opened(backendFor(url)))).text === said).toBe(true);
    expect(most()).toBeLessThan(few);
  });

  it("that is refused", async () => {
    const { url } = await sending("application/json", `{"error":{"message":"${said}"}}`, 400);
    const most = mostParts();
    await thrownBy(completed(opened(backendFor(url))));
    expect(most()).toBeLessThan(few);
  });
});

describe("an image", () => {
  const png = picture(64, 48, 1);

  it("within a gateway's whole answer", async () => {
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const body = JSON.stringify({ images: [{ url, seed: 1, nsfw: false }], said });
    const { url: gateway } = await sending("application/json", body);
    const most = mostParts();
    const { images } = await generate(opened(restAt(gateway)), { modelId: "draw" });
    expect(images).toHaveLength(1);
    expect(most()).toBeLessThan(few);
  });

  it("beside which there is much text", () => {
    const most = mostParts();
    const body = new ImageBody(1);
    for (const letter of said) body.push(Buffer.from(letter));
    expect(body.text() === said).toBe(true);
    expect(most()).toBeLessThan(few);
  });
});

it("an event of a stream, of which each read brings a byte", () => {
  const most = mostParts();
  const splitter = new EventSplitter();
  for (const letter of `data: ${said}\n`) expect(splitter.push(Buffer.from(letter))).toEqual([]);
  expect(splitter.push(Buffer.from("\n"))).toEqual([{ data: said, failed: false }]);
  expect(most()).toBeLessThan(few);
});

it("white space before an answer, which is looked at once", async () => {
  const concat = vi.spyOn(Buffer, "concat");
  onTestFinished(() => concat.mockRestore());
  const parts = [..." ".repeat(2000), "\n", "[", "1]"].values();
  const read = async () => {
    const { value } = parts.next();
    return value === undefined ? undefined : Buffer.from(value);
  };
  const { bytes, whole } = await beginningOf({}, read);
  expect({ text: bytes.toString().trimStart(), whole }).toEqual({ text: "[", whole: true });
  const joined = concat.mock.results.map(({ value }) => (value as Buffer).length);
  expect(joined.reduce((sum, length) => sum + length, 0)).toBeLessThan(2 * bytes.length);
});

it("a large answer, before it has its place", async () => {
  let left = letters;
  const read = async () => (left-- > 0 ? [Buffer.from("x")] : undefined);
  const large = new LargeAnswer({}, never);
  let pieces = 0;
  for await (const _ of large.pieces(piecesOf({ read } as never))) pieces++;
  expect(pieces).toBeLessThan(few);
});
