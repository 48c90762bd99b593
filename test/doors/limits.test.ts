/** What every door tells of limits, and how it hears of Idempotency-Key. */
import { type ConnectError, createClient } from "@connectrpc/connect";
import OpenAI, { RateLimitError } from "openai";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import type { CoreParts } from "../../src/core/core.js";
import type { LimitSettings } from "../../src/core/limits/settings.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { paints, says, scripted } from "../support/scripted.js";
import { me, transportOf, wires } from "./rpc-server.js";
import { hello, json, serve } from "./serve.js";

const noon = Date.UTC(2026, 0, 15, 12);

/** A Lintel with limits of every caller, whose time stands still. */
const limited = (requestsPerMinute: number, tokensPerMinute = 1_000_000, clock = () => noon) =>
  limitedBy({ caller: { requestsPerMinute, tokensPerMinute } }, clock);

async function limitedBy(settings: Partial<LimitSettings>, clock = () => noon) {
  const parts: Partial<CoreParts> = {
    limits: {
      settings: { models: [], ...settings },
      prices: [],
      store: memoryLimits({ clock }),
    },
    idempotency: {
      store: new MemoryIdempotency({ ttlMs: 60_000, maxAnswerBytes: 1e6, maxBytes: 1e6 }),
      lingerMs: 1000,
    },
  };
  const backend = scripted({ chat: says("Hi", " there"), streamTextToImage: paints(1) });
  return { backend, ...(await serve(backend, { parts })) };
}

/** The rate limit's headers without what they all begin with. */
const told = (headers: Headers) =>
  Object.fromEntries(
    [...headers]
      .filter(([name]) => name.startsWith("x-ratelimit-"))
      .map(([name, value]) => [name.slice("x-ratelimit-".length), value]),
  );

describe.each([
  ["/llm", {}],
  ["/llm", { stream: true }],
  ["/v1/chat/completions", { model: "chat-1" }],
  ["/v1/chat/completions", { model: "chat-1", stream: true }],
  ["/v1/responses", { input: "Hello" }],
  ["/v1/responses", { input: "Hello", stream: true }],
])("POST %s %j", (path, more) => {
  test("tells how it stands, and refuses with Retry-After", async () => {
    const server = await limited(1, 1000);
    const good = await server.post(path, hello(more));
    expect(good.status).toBe(200);
    await good.text();
    expect(told(good.headers)).toEqual({
      "limit-requests": "1",
      "remaining-requests": "0",
      "reset-requests": "1m1s",
      "limit-tokens": "1000",
      "remaining-tokens": expect.stringMatching(/^7\d\d$/),
      "reset-tokens": "1m1s",
    });
    const refused = await server.post(path, hello(more));
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("61");
    expect(refused.headers.get("retry-after-ms")).toBe("59999");
    expect(refused.headers.has("x-should-retry")).toBe(false);
    expect(told(refused.headers)).toMatchObject({ "remaining-requests": "0" });
    expect((await json(refused)).error).toEqual({
      type: "rate_limit_error",
      code: "rate_limited",
      message: "limit reached: 1 request per minute for this caller; try again in 61 s",
      param: null,
    });
  });

  test("gives the first answer again for the same Idempotency-Key", async () => {
    const server = await limited(1);
    const key = { "idempotency-key": "4a1f" };
    const first = await server.post(path, hello(more), key);
    const again = await server.post(path, hello(more), key);
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.text()).toBe(await first.text());
    expect(server.backend.asked).toHaveLength(1);
    const other = await server.post(path, hello({ ...more, temperature: 0.1 }), key);
    expect(other.status).toBe(400);
    expect((await json(other)).error).toMatchObject({
      code: "invalid_value",
      param: "idempotency-key",
      message: expect.stringContaining("was used for another request"),
    });
  });
});

describe.each<[string, object, (user: string) => object]>([
  ["/llm", hello(), (user) => ({ user })],
  ["/llm", hello({ stream: true }), (user) => ({ user })],
  ["/text-to-image", { prompt: "a lintel" }, (user) => ({ user })],
  ["/v1/chat/completions", hello({ model: "chat-1" }), (user) => ({ user })],
  ["/v1/chat/completions", hello({ model: "chat-1" }), (id) => ({ safety_identifier: id })],
  ["/v1/responses", { model: "chat-1", input: "Hello" }, (id) => ({ safety_identifier: id })],
  ["/v1/images/generations", { prompt: "a lintel" }, (user) => ({ user })],
  [
    "/v1/messages",
    hello({ model: "chat-1", max_tokens: 9 }),
    (user_id) => ({ metadata: { user_id } }),
  ],
  ["/lintel.v1.ChatService/Complete", hello(), (user) => ({ user })],
])("POST %s %j", (path, body, naming) => {
  test("is limited for each end user", async () => {
    const server = await limitedBy({ user: { requestsPerMinute: 1 } });
    const ask = (user?: string) =>
      server.post(path, { ...body, ...(user !== undefined && naming(user)) });
    expect((await ask("u-1")).status).toBe(200);
    const refused = await ask("u-1");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "61"]);
    expect(told(refused.headers)).toMatchObject({ "limit-requests": "1" });
    expect(await refused.text()).toContain(
      "limit reached: 1 request per minute for this user; try again in 61 s",
    );
    for (const other of ["u-2", undefined, undefined]) expect((await ask(other)).status).toBe(200);
  });
});

test("images are given again too, with the same address", async () => {
  const server = await limited(1);
  const key = { "idempotency-key": "picture" };
  const [first, again] = [
    await json(await server.post("/text-to-image", { prompt: "a lintel" }, key)),
    await json(await server.post("/text-to-image", { prompt: "a lintel" }, key)),
  ];
  expect(first.images[0].url).toMatch(/^http/);
  expect(again).toEqual(first);
});

test("an answer without addresses is not given to who wants one with them", async () => {
  const server = await limited(1);
  const key = { "idempotency-key": "picture" };
  const inline = { prompt: "a lintel", response_format: "b64_json" };
  const first = await server.post("/v1/images/generations", inline, key);
  expect((await json(first)).data[0].b64_json).toMatch(/^\S+$/);
  const both = { prompt: "a lintel", includeData: true };
  const other = await server.post("/lintel.v1.TextToImageService/TextToImage", both, key);
  expect(await json(other)).toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("was used for another request"),
  });
});

test("a key that came twice, or is empty, is refused", async () => {
  const server = await limited(10);
  for (const key of ["", "a, b", "x".repeat(256)]) {
    const response = await server.post("/llm", hello(), { "idempotency-key": key });
    expect([response.status, (await json(response)).error.param]).toEqual([400, "idempotency-key"]);
  }
  const body = JSON.stringify(hello());
  const bare = server.socket(
    [
      "POST /llm HTTP/1.1",
      "Host: a",
      "Authorization: Bearer me",
      "Content-Type: application/json",
      "Idempotency-Key: a",
      "Idempotency-Key: b",
      `Content-Length: ${body.length}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
  let said = "";
  for await (const bytes of bare) said += bytes;
  expect(said).toMatch(/^HTTP\/1\.1 400 .*idempotency-key: must be 1 to 255/s);
});

test("OpenAI's SDK reads the limits, and does not come again for nothing", async () => {
  const server = await limited(1, 8);
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "me", maxRetries: 2 });
  const asked = { model: "chat-1", messages: [{ role: "user" as const, content: "Hello" }] };
  const refused = await client.chat.completions.create(asked).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RateLimitError);
  expect((refused as RateLimitError).message).toContain("more than 8 tokens per minute");
  expect((refused as RateLimitError).headers?.get("x-ratelimit-remaining-requests")).toBe("1");
});

test("OpenAI's SDK waits until a minute's limit has room again", async () => {
  let now = noon;
  const server = await limited(1, undefined, () => now);
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "me", maxRetries: 2 });
  const asked = { model: "chat-1", messages: [{ role: "user" as const, content: "Hello" }] };
  const { response } = await client.chat.completions.create(asked).withResponse();
  expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  // What it waits for passes at once.
  const waits: number[] = [];
  const { setTimeout } = globalThis;
  const timers = vi.spyOn(globalThis, "setTimeout").mockImplementation(((
    then: () => void,
    ms: number,
  ) => {
    if (ms !== 59_999 && ms !== 1001) return setTimeout(then, ms);
    waits.push(ms);
    now += ms;
    return setTimeout(then);
  }) as typeof setTimeout);
  onTestFinished(() => timers.mockRestore());
  const { choices } = await client.chat.completions.create(asked);
  expect(choices[0]?.message.content).toBe("Hi there");
  expect(waits).toEqual([59_999, 1001]);
});

describe.each(wires)("%s", (wire) => {
  test("tells how it stands in metadata, and refuses with RetryInfo", async () => {
    const server = await limited(1);
    const client = createClient(ChatService, transportOf(wire, server.url));
    let headers = new Headers();
    const onHeader = (h: Headers) => {
      headers = h;
    };
    const stream = client.chat(
      { messages: [{ role: "user", content: "Hello" }] },
      { ...me, onHeader },
    );
    for await (const _ of stream);
    expect(told(headers)).toMatchObject({ "limit-requests": "1", "remaining-requests": "0" });
    const refused = await client
      .complete({ messages: [{ role: "user", content: "Hello" }] }, me)
      .then(() => undefined)
      .catch((error: ConnectError) => error);
    expect(refused?.rawMessage).toContain("limit reached: 1 request per minute for this caller");
    expect(refused?.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds).toBe(61n);
    expect(told(refused?.metadata ?? new Headers())).toMatchObject({ "remaining-requests": "0" });
  });

  test("refuses an end user, and goes on for others", async () => {
    const server = await limitedBy({ user: { requestsPerMinute: 1 } });
    const client = createClient(ChatService, transportOf(wire, server.url));
    const ask = (user: string) =>
      client.complete({ messages: [{ role: "user", content: "Hello" }], user }, me);
    await ask("u-1");
    const refused = await ask("u-1").then(
      () => undefined,
      (error: ConnectError) => error,
    );
    expect(refused?.rawMessage).toContain("limit reached: 1 request per minute for this user");
    expect(refused?.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds).toBe(61n);
    await ask("u-2");
  });

  test("hears of the key", async () => {
    const server = await limited(1);
    const client = createClient(ChatService, transportOf(wire, server.url));
    const headers = { ...me.headers, "idempotency-key": "4a1f" };
    const ask = () =>
      client.complete({ messages: [{ role: "user", content: "Hello" }] }, { headers });
    const [first, again] = [await ask(), await ask()];
    expect(again.id).toBe(first.id);
    expect(server.backend.asked).toHaveLength(1);
  });
});

test("a unary call of Connect, which has a status of HTTP, is refused with Retry-After, too", async () => {
  const server = await limited(1);
  const ask = () => server.post("/lintel.v1.ChatService/Complete", hello());
  expect((await ask()).headers.get("retry-after")).toBeNull();
  const refused = await ask();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "61"]);
});
