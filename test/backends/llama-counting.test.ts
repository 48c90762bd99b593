/** Tokens of prompts of GGUF models: as many as an answer says that it was asked with. */
import { copyFile, mkdtemp, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { State } from "../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { json } from "../doors/serve.js";
import { never } from "../support/calls.js";
import { jsonSchema } from "../support/formats.js";
import { functionTool } from "../support/tools.js";
import { serveFile } from "./llama-gateway.js";
import { answer, backendFor, chatRequest, say, tiny, trained } from "./llama-subject.js";
import { countedBy } from "./subject.js";

async function loaded(path: string, config: object = {}): Promise<Backend> {
  const backend = backendFor(path, config);
  onTestFinished(() => backend.close());
  await backend.ready?.("", never);
  return backend;
}

const tool = functionTool(
  "weather",
  { type: "object", properties: { city: { type: "string" } } },
  { description: "The weather in a city." },
);

describe("the tokens of a prompt", () => {
  it.each<[string, Partial<LLMRequest>]>([
    ["one message", {}],
    [
      "several",
      { messages: [say("Be brief.", "system"), say("a"), say("b", "assistant"), say("c")] },
    ],
    ["tools", { tools: [tool] }],
    ["a form", { responseFormat: jsonSchema({ type: "object", properties: {} }) }],
  ])("are those that an answer tells of: %s", async (_, more) => {
    const backend = await loaded(trained);
    const request = chatRequest("Hello there", more);
    const counted = await countedBy(backend, request);
    expect(counted).toMatchObject({ estimated: false });
    expect(counted?.promptTokens).toBe((await answer(backend, request)).prompt);
  });

  it("are counted to the end where they don't fit", async () => {
    const backend = await loaded(tiny);
    const one = (await countedBy(backend, chatRequest("a")))?.promptTokens ?? 0;
    const words = "word ".repeat(5000);
    const many = await countedBy(backend, chatRequest(words));
    expect(many?.promptTokens).toBe(one - 1 + words.length);
  });

  it("are not counted of more messages than fit", async () => {
    const backend = await loaded(tiny);
    const messages = Array.from({ length: 128 }, () => say("a"));
    const counted = countedBy(backend, chatRequest("", { messages }));
    await expect(counted).rejects.toMatchObject({ code: "unimplemented" });
  });

  it("are counted no further once the caller left", async () => {
    const backend = await loaded(tiny);
    const caller = new AbortController();
    const counted = countedBy(backend, chatRequest("word ".repeat(50_000)), caller.signal);
    setImmediate(() => caller.abort(new Error("left")));
    await expect(counted).rejects.toThrow("left");
  });
});

describe("a model that is not in memory", () => {
  it("is loaded where that takes no time", async () => {
    const backend = backendFor(tiny, { load: "lazy" });
    onTestFinished(() => backend.close());
    expect(backend.models()[0]?.state).toBe(State.IDLE);
    expect((await countedBy(backend, chatRequest("hello")))?.promptTokens).toBe(9);
  });

  it("is not loaded for it where that may take long", async () => {
    const folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "large.gguf");
    await copyFile(tiny, path);
    // Nobody reads what stands behind the weights.
    await truncate(path, 64 * 1024 * 1024);
    const backend = backendFor(path, { load: "lazy" });
    onTestFinished(() => backend.close());
    const counted = countedBy(backend, chatRequest("hello"));
    await expect(counted).rejects.toMatchObject({ code: "unimplemented" });
    expect(backend.models()[0]?.state).toBe(State.IDLE);
    await backend.ready?.("", never);
    expect((await countedBy(backend, chatRequest("hello")))?.promptTokens).toBe(9);
  });
});

it("come by a gateway before a model in a process of its own, as with an answer", async () => {
  const server = await serveFile(tiny);
  const body = { messages: [{ role: "user", content: "hello" }], max_tokens: 1 };
  const counted = await json(await server.post("/v1/chat/completions/input_tokens", body));
  expect(counted).toEqual({ object: "response.input_tokens", input_tokens: 9 });
  const said = await json(await server.post("/v1/chat/completions", body));
  expect(said.usage.prompt_tokens).toBe(9);
});
