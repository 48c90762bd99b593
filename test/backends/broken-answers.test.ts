/** A model server whose answer breaks off: who has seen nothing of it has it from another one. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { gptImage } from "./openai-images-subject.js";
import { backendFor, chunk, echo } from "./openai-subject.js";
import { picture } from "./picture.js";
import { livepeerImages, restAt } from "./rest-subject.js";
import { type Script, Upstream } from "./upstream.js";

/** Sends a part of a body that is said to be longer. */
const cut =
  (body: string): Script =>
  async (exchange) => {
    await exchange.head(200, { "content-type": "application/json", "content-length": "100000" });
    await exchange.raw(body);
    exchange.destroy();
  };

/** Sends a part of a body without a length, which ends where its connection does. */
const cutUnsized =
  (body: string, type = "application/json"): Script =>
  async (exchange) => {
    await exchange.raw(`HTTP/1.0 200 OK\r\ncontent-type: ${type}\r\n\r\n${body}`);
    exchange.destroy();
  };

/** Sends events, and what was said to be a stream ends, in order or not. */
const streams =
  (inOrder: boolean, ...events: (string | object)[]): Script =>
  async (exchange) => {
    await exchange.stream(...events);
    if (inOrder) await exchange.end();
    else exchange.destroy();
  };

const whole =
  (body: object): Script =>
  (exchange) =>
    exchange.sendJson(200, body);

/** A gateway before two servers, the first of which answers so. */
async function inFrontOf(
  first: Script,
  second: Script,
  backendAt: (url: string, name: string) => Backend,
) {
  const servers = [await Upstream.start(first), await Upstream.start(second)];
  const backends = servers.map(({ url }, i) => backendAt(url, `server${i}`));
  onTestFinished(async () => {
    for (const part of [...backends, ...servers]) await part.close();
  });
  return coreOf(backends);
}

const openai = (url: string, name: string) =>
  backendFor(url, { name, image_models: ["gpt-image-2"] });

/** A `rest` gateway that answers whole, and has the image at its address. */
const drawing: Script = (exchange) =>
  exchange.request.method === "GET"
    ? exchange.send(200, { "content-type": "image/png" }, picture(64, 64, 7))
    : livepeerImages(exchange);

const rest = (url: string, name: string) => restAt(url, { name });

const hello = { messages: [{ role: "user", content: "hello" }], model: "m" };

describe("a completion is had from another server where the first one's", () => {
  it.each([
    ["is cut off", cut('{"id":"a","choices":[{"index":0,"message":{"content":"Hal')],
    [
      "is cut off, and had no length",
      cutUnsized('{"id":"a","choices":[{"message":{"content":"Hal'),
    ],
    ["is cut off before its first byte", cutUnsized("")],
    ["comes as a stream that is cut off", streams(false, chunk({ content: "Hal" }))],
    ["comes as a stream without its end", streams(true, chunk({ content: "Hal" }))],
    ["has a choice with nothing in it", whole({ id: "a", choices: [{ index: 0 }] })],
    ["has no choice", whole({ id: "a", choices: [] })],
    ["has null for choices", whole({ id: null, choices: null })],
  ])("%s", async (_, script) => {
    const { code, messages, metadata } = await outcome(
      await inFrontOf(script, echo, openai),
      "complete",
      hello,
    );
    expect(code).toBe("ok");
    expect(messages[0]?.choices[0]?.message?.content).toBe("you said hello");
    expect(metadata.get("x-lintel-attempts")).toBe("2");
  });
});

it("a completion that is whole and no JSON is nonsense, which another server would answer with as well", async () => {
  const script = cutUnsized('{"id":"a","choices":[nothing]}');
  const { code, metadata } = await outcome(
    await inFrontOf(script, echo, openai),
    "complete",
    hello,
  );
  expect(code).toBe("upstream_failed");
  expect(metadata.get("x-lintel-attempts")).toBe("1");
});

describe("a stream is had from another server where the first one's", () => {
  it.each([
    ["is cut off before a word", streams(false, chunk({ role: "assistant", content: "" }))],
    ["ends before a word", streams(true, ": thinking\n\n")],
    ["comes whole, and is cut off", cut('{"id":"a","choices":[{"index":0,"message":{')],
    ["comes whole, and is cut off without a length", cutUnsized('{"id":"a","choices":[{"inde')],
    ["is cut off within its first event", cutUnsized('data: {"id":"a","cho', "text/event-stream")],
  ])("%s", async (_, script) => {
    const { code, metadata } = await outcome(await inFrontOf(script, echo, openai), "chat", hello);
    expect(code).toBe("ok");
    expect(metadata.get("x-lintel-attempts")).toBe("2");
  });

  it.each([true, false])("and not behind a word, where it ends in order: %s", async (inOrder) => {
    const script = streams(inOrder, chunk({ content: "Hal" }));
    const { code, messages } = await outcome(await inFrontOf(script, echo, openai), "chat", hello);
    expect(code).toBe("upstream_failed");
    expect(messages).toHaveLength(1);
  });
});

describe("images are had from another server where the first one's", () => {
  const image = { modelId: "gpt-image-2", prompt: "a circle", width: 64, height: 64 };
  const partial = { type: "image_generation.partial_image", partial_image_index: 0 };

  it.each([
    ["are cut off", cut('{"created":1,"data":[{"b64_json":"iVBORw0KGgo'), false],
    ["are cut off, and had no length", cutUnsized('{"created":1,"data":[{"b64_json":"iVBO'), false],
    ["come as a stream that is cut off", streams(false, partial), true],
    ["come as a stream without its end", streams(true, partial), true],
  ])("%s", async (_, script, includePreviews) => {
    const core = await inFrontOf(script, gptImage, openai);
    // A server is asked for a stream where there are previews to be seen.
    const asked = includePreviews ? [] : (["textToImage"] as const);
    for (const method of [...asked, "streamTextToImage"] as const) {
      const { code, metadata } = await outcome(core, method, { ...image, includePreviews });
      expect(code).toBe("ok");
      expect(metadata.get("x-lintel-attempts")).toBe("2");
    }
  });

  it("are a whole answer of a rest gateway that is cut off", async () => {
    const core = await inFrontOf(cut('{"images":[{"url":"http://h'), drawing, rest);
    const request = { ...image, modelId: "draw", seed: 7n };
    const { code, metadata } = await outcome(core, "textToImage", request);
    expect(code).toBe("ok");
    expect(metadata.get("x-lintel-attempts")).toBe("2");
  });
});
