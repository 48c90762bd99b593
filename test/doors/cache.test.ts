/** What every door tells of answers that are kept, and how it hears of Cache-Control. */
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { says, scripted } from "../support/scripted.js";
import { me, transportOf, wires } from "./rpc-server.js";
import { hello, serve } from "./serve.js";

const hit = expect.stringMatching(/^lintel; hit; ttl=(3600|3599)$/);

/** A Lintel that keeps the answers of its model. */
async function caching() {
  const cache = { ttlMs: 3_600_000, scope: "caller", maxAnswerBytes: 1000 } as const;
  const backend = scripted({ chat: says("Hi", " there") });
  const setting = { core: { cache }, parts: { cache: memoryCache(1_000_000) } };
  return { backend, ...(await serve(backend, setting)) };
}

const paths = [
  ["/llm", hello()],
  ["/v1/chat/completions", hello({ model: "chat-1", max_tokens: 256 })],
  ["/v1/responses", { model: "chat-1", input: "Hello", max_output_tokens: 256 }],
  ["/v1/messages", hello({ model: "chat-1", max_tokens: 256 })],
] as const;

test("paths give one answer, whole and streamed", async () => {
  const { post, backend } = await caching();
  const told: unknown[] = [];
  for (const [path, body] of paths) {
    for (const stream of [false, true]) {
      const answer = await post(path, { ...body, temperature: 0.7, top_p: 1, stream });
      expect(await answer.text()).toContain("Hi there");
      told.push(answer.headers.get("cache-status"));
    }
  }
  // Who asks for no thoughts on /v1/messages wants none: that is another question.
  const miss = "lintel; fwd=miss";
  expect(told).toEqual([miss, hit, hit, hit, hit, hit, miss, hit]);
  expect(backend.asked).toHaveLength(2);
});

test.each(paths)(
  "%s hears of Cache-Control, and pages may read what came of it",
  async (path, body) => {
    const { post, backend } = await caching();
    await post(path, body);
    const origin = "https://page.example";
    const answer = await post(path, body, { "cache-control": "no-cache", origin });
    expect(answer.headers.get("cache-status")).toBe("lintel; fwd=request");
    expect(answer.headers.get("access-control-expose-headers")).toContain("cache-status");
    expect(backend.asked).toHaveLength(2);
  },
);

describe.each(wires)("%s", (wire) => {
  test("tells of them in metadata, whole and streamed, and hears of Cache-Control", async () => {
    const { url, backend } = await caching();
    const client = createClient(ChatService, transportOf(wire, url));
    const told: (string | null)[] = [];
    const onHeader = (headers: Headers) => void told.push(headers.get("cache-status"));
    const options = { ...me, onHeader };
    const first = await client.complete(hello(), options);
    let said = "";
    for await (const { choices } of client.chat(hello(), options)) {
      said += choices[0]?.delta?.content;
    }
    expect(said).toBe(first.choices[0]?.message?.content);
    const control = { ...me.headers, "cache-control": "no-store" };
    await client.complete(hello(), { headers: control, onHeader });
    expect(told).toEqual(["lintel; fwd=miss", hit, "lintel; fwd=request"]);
    expect(backend.asked).toHaveLength(2);
  });
});
