/** How vendors behind the AI SDK are asked for the tokens of a prompt. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { functionTool } from "../support/tools.js";
import { anthropicAt, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import { googleAt } from "./ai-sdk-thoughts.js";
import { chatRequest } from "./openai-subject.js";
import { callOf, countedBy } from "./subject.js";
import { type Script, Upstream } from "./upstream.js";

async function vendor(backendAt: (url: string) => Backend, script: Script) {
  const upstream = await Upstream.start(script);
  onTestFinished(() => upstream.close());
  const backend = backendAt(upstream.url);
  onTestFinished(() => backend.close());
  return { upstream, backend };
}

const count = (backend: Backend, more: Partial<LLMRequest> = {}) =>
  countedBy(backend, chatRequest(more));

const tool = functionTool("weather", { type: "object", properties: {} });

const says =
  (status: number, body: object): Script =>
  (exchange) =>
    exchange.sendJson(status, body);

const vendors = [
  ["Anthropic", anthropicAt, "/v1/messages/count_tokens", "input_tokens"],
  ["OpenAI", openaiAt, "/v1/responses/input_tokens", "input_tokens"],
  [
    "Google",
    (url: string) => googleAt(url, { models: [{ id: "m" }] }),
    "/v1beta/models/m:countTokens",
    "totalTokens",
  ],
] as const;

describe.each(vendors)("%s", (_, backendAt, path, field) => {
  test("is sent the prompt of the request, at its other path", async () => {
    const { backend, upstream } = await vendor(backendAt, says(200, { [field]: 17 }));
    const counted = await count(backend, { tools: [tool] });
    expect(counted).toMatchObject({ promptTokens: 17, estimated: false });
    expect(upstream.requests.map(({ method, path: at }) => [method, at])).toEqual([["POST", path]]);
    expect(JSON.stringify(upstream.requests[0]?.headers)).not.toContain("lintel-counting");
    const body = JSON.parse(String(upstream.requests[0]?.body));
    expect(JSON.stringify(body)).toContain("hello");
    expect(JSON.stringify(body)).toContain("weather");
    if (field === "input_tokens") {
      expect(body.model).toBe("m");
      for (const name of ["max_tokens", "max_output_tokens", "temperature", "stream", "store"]) {
        expect(body).not.toHaveProperty(name);
      }
    } else {
      expect(Object.keys(body)).toEqual(["generateContentRequest"]);
      expect(body.generateContentRequest.model).toBe("models/m");
    }
  });

  test("answers as ever beside that", async () => {
    const { backend, upstream } = await vendor(backendAt, says(500, {}));
    const answer = async () => {
      for await (const _ of backend.handlers.complete?.(callOf("complete", chatRequest())) ?? []);
    };
    const both = await Promise.allSettled([answer(), count(backend), answer()]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    const counting = upstream.requests.filter((request) => request.path === path);
    expect([counting.length, upstream.requests.length]).toEqual([1, 3]);
  });

  test.each([404, 405, 501])("that says %i is not asked again", async (status) => {
    const { backend, upstream } = await vendor(backendAt, says(status, { [field]: 17 }));
    await expect(count(backend)).rejects.toMatchObject({ code: "unimplemented" });
    await expect(count(backend)).rejects.toMatchObject({ code: "unimplemented" });
    expect(upstream.requests).toHaveLength(1);
  });

  test.each([
    [404, { error: { type: "not_found_error", message: "model: m" } }],
    [400, {}],
    [429, {}],
    [200, {}],
    [200, { [field]: "17" }],
    [200, { [field]: -1 }],
  ])("that says %i %j counts none, this time", async (status, body) => {
    const { backend, upstream } = await vendor(backendAt, says(status, body));
    await expect(count(backend)).rejects.toMatchObject({ code: "unimplemented" });
    await expect(count(backend)).rejects.toMatchObject({ code: "unimplemented" });
    expect(upstream.requests).toHaveLength(2);
  });
});

test("a vendor of whom nothing is known is not asked", async () => {
  const { backend } = await vendor(compatibleAt, says(200, {}));
  expect(backend.handlers.countTokens).toBeUndefined();
});
