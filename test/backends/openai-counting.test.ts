/** How OpenAI-compatible servers are asked for the tokens of a prompt. */
import { describe, expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { say } from "../support/messages.js";
import { functionTool } from "../support/tools.js";
import { against } from "./openai-calls.js";
import { chatRequest } from "./openai-subject.js";
import { countedBy } from "./subject.js";
import type { Script } from "./upstream.js";

type Against = Awaited<ReturnType<typeof against>>;

const count = ({ backend }: Pick<Against, "backend">, more: Partial<LLMRequest> = {}) =>
  countedBy(backend, chatRequest(more));

const says =
  (body: object): Script =>
  (exchange) =>
    exchange.sendJson(200, body);

const tool = functionTool("weather", { type: "object" });
const told = [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }];

const paths = ({ upstream }: Against) => upstream.requests.map(({ path }) => path);

describe("llama.cpp, and who is not known", () => {
  test.each(["llamacpp", "auto"])("are sent the request itself: %s", async (dialect) => {
    const server = await against(says({ object: "x", input_tokens: 17 }), { dialect });
    const counted = await count(server, { tools: [tool], messages: [say("user", "Hello")] });
    expect(counted).toMatchObject({ promptTokens: 17, estimated: false });
    expect(paths(server)).toEqual(["/v1/chat/completions/input_tokens"]);
    expect(server.bodies()).toMatchObject([
      { model: "m", stream: false, messages: [{ role: "user", content: "Hello" }], tools: told },
    ]);
  });

  test("are sent numbers of schemas as they are written", async () => {
    const server = await against(says({ object: "x", input_tokens: 17 }), { dialect: "llamacpp" });
    const exact = '{"type":"integer","maximum":9223372036854775807}';
    await count(server, { tools: [functionTool("weather", exact)] });
    expect(server.upstream.requests[0]?.body.toString()).toContain(`"parameters":${exact}`);
  });

  test("another gateway's estimate is told as one", async () => {
    const server = await against(says({ input_tokens: 17, estimated: true }));
    expect(await count(server)).toMatchObject({ promptTokens: 17, estimated: true });
  });
});

describe("vLLM", () => {
  test.each([
    ["", "/tokenize"],
    ["/v1", "/tokenize"],
    ["/proxy/v1", "/proxy/tokenize"],
    ["/proxy", "/proxy/tokenize"],
  ])("is asked beside its API: %s", async (base, path) => {
    const server = await against(says({ count: 17, max_model_len: 99, tokens: [1] }));
    const url = server.upstream.url + base;
    const other = await against(says({}), { url, dialect: "vllm" });
    const counted = await count(other, { tools: [tool] });
    expect(counted).toMatchObject({ promptTokens: 17, estimated: false });
    expect(paths(server)).toEqual([path]);
    expect(server.bodies()).toEqual([
      { model: "m", messages: [{ role: "user", content: "hello" }], tools: told },
    ]);
  });
});

describe("a server", () => {
  test.each([
    [404, ""],
    [404, '{"detail":"Not Found"}'],
    [404, "404 page not found"],
    [405, ""],
    [501, ""],
  ])("that says %i is not asked again: %s", async (status, body) => {
    const server = await against((exchange) => exchange.send(status, {}, body));
    await expect(count(server)).rejects.toMatchObject({ code: "unimplemented" });
    await expect(count(server)).rejects.toMatchObject({ code: "unimplemented" });
    expect(server.upstream.requests).toHaveLength(1);
  });

  test.each([400, 429, 500, 503])(
    "that says %i is asked again, whose words hold no connection",
    async (status) => {
      const server = await against((exchange) => exchange.send(status, {}, "x".repeat(2 ** 23)), {
        connections: 1,
      });
      await expect(count(server)).rejects.toMatchObject({ code: "unimplemented" });
      await expect(count(server)).rejects.toMatchObject({ code: "unimplemented" });
      expect(server.upstream.requests).toHaveLength(2);
    },
  );

  test("that has no such model is asked again: it may be back", async () => {
    const error = { message: 'there is no model "m"', code: "model_not_found", param: "model" };
    let isThere = false;
    const server = await against((exchange) =>
      isThere ? exchange.sendJson(200, { input_tokens: 17 }) : exchange.sendJson(404, { error }),
    );
    await expect(count(server)).rejects.toMatchObject({ code: "unimplemented" });
    isThere = true;
    expect(await count(server)).toMatchObject({ promptTokens: 17 });
  });

  test.each([{}, { input_tokens: -1 }, { input_tokens: 1.5 }, { input_tokens: 2 ** 32 }, [7]])(
    "that answers %j counts none",
    async (body) => {
      const server = await against(says(body));
      await expect(count(server)).rejects.toMatchObject({ code: "unimplemented" });
    },
  );

  test.each(["openai", "ollama", "together"])(
    "known to count none is not asked: %s",
    async (dialect) => {
      const server = await against(says({ input_tokens: 1 }), { dialect });
      expect(server.backend.handlers.countTokens).toBeUndefined();
    },
  );
});
