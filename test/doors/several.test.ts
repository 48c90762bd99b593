/** Several answers to one request of OpenAI's clients (`n`): calls of their own, and one answer with several choices. */
import { expect, test, vi } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import type { CallSignal } from "../../src/core/cancellation.js";
import { detailsOf, tokenUsage } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { routingDefaults } from "../../src/core/routing/settings.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { callsTools, piece, says, scripted } from "../support/scripted.js";
import { chunks, hello, json, serve, serveChat } from "./serve.js";

const path = "/v1/chat/completions";

/** Says which call it is, the first of them 1, and what it took. */
function counting(): Handle<"chat"> {
  let count = 0;
  return async function* () {
    const which = ++count;
    yield [piece(`no. ${which}`)];
    const details = detailsOf(3, undefined, which);
    yield [{ ...piece("", "stop"), usage: tokenUsage(7, which, details), warnings: ["same"] }];
  };
}

test("are choices of one whole answer, each a call with a place, and what they took is one sum", async () => {
  const backend = scripted({ chat: counting() });
  const { post } = await serve(backend);
  const response = await post(path, hello({ n: 3 }));
  expect(response.status).toBe(200);
  const { choices, usage, warnings } = await json(response);
  expect(choices).toEqual(
    [0, 1, 2].map((index) => ({
      ...{ index, finish_reason: "stop" },
      message: { role: "assistant", content: `no. ${index + 1}` },
    })),
  );
  expect(usage).toEqual({
    ...{ prompt_tokens: 21, completion_tokens: 6, total_tokens: 27 },
    prompt_tokens_details: { cached_tokens: 9 },
    completion_tokens_details: { reasoning_tokens: 6 },
  });
  expect(warnings).toEqual(["same"]);
  expect(backend.asked).toHaveLength(3);
});

test("are told in one stream, under one id, as they come", async () => {
  const { post } = await serveChat(counting());
  const stream_options = { include_usage: true };
  const told = await chunks(await post(path, hello({ n: 2, stream: true, stream_options })));
  expect(new Set(told.map(({ id }) => id)).size).toBe(1);
  for (const index of [0, 1]) {
    const its = told.flatMap(({ choices }) =>
      choices.filter((one: { index: number }) => one.index === index),
    );
    expect(its.map(({ delta, finish_reason }) => [delta, finish_reason])).toEqual([
      [{ role: "assistant", content: `no. ${index + 1}` }, null],
      [{}, "stop"],
    ]);
  }
  const end = told.at(-1);
  expect(end).toMatchObject({ choices: [], warnings: ["same"] });
  expect(end.usage).toMatchObject({ prompt_tokens: 14, completion_tokens: 3, total_tokens: 17 });
  expect(told.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
});

test("one does not wait for another", async () => {
  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  let count = 0;
  const { post } = await serveChat(async function* () {
    if (++count === 1) await held;
    yield [piece(`no. ${count}`)];
    yield [piece("", "stop", [1, 1])];
  });
  const response = await post(path, hello({ n: 2, stream: true }));
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  expect(Buffer.from(value ?? []).toString()).toContain('{"index":1,"delta":{"role":"assistant"');
  release();
  while (!(await reader?.read())?.done);
});

test.each([
  [7, [7n, 8n, 9n]],
  [4294967295, [4294967295n, 0n, 1n]],
  [-1, [-1n, -1n, -1n].map(() => undefined)],
  [undefined, [undefined, undefined, undefined]],
])("by the seed %s have seeds of their own", async (seed, seeds) => {
  const backend = scripted({ chat: says("Hi") });
  const { post } = await serve(backend);
  await json(await post(path, hello({ n: 3, seed })));
  expect((backend.asked as LLMRequest[]).map((request) => request.seed)).toEqual(seeds);
});

test.each([undefined, null, "", 1])("%j is one", async (n) => {
  const backend = scripted({ chat: says("Hi") });
  const { post } = await serve(backend);
  expect((await json(await post(path, hello({ n })))).choices).toHaveLength(1);
  expect(backend.asked).toHaveLength(1);
});

test.each([0, 17, 1.5, -2, "2", true, [2]])("%j is a 422", async (n) => {
  const backend = scripted({ chat: says("Hi") });
  const { post } = await serve(backend);
  const response = await post(path, hello({ n, temperature: 3 }));
  expect(response.status).toBe(422);
  const { detail } = await json(response);
  expect(detail.map(({ loc, msg }: Record<string, unknown>) => [loc, msg])).toEqual([
    [["body", "temperature"], "must be from 0 to 2"],
    [["body", "n"], "must be an integer from 1 to 16"],
  ]);
  expect(backend.asked).toEqual([]);
});

/** The second one fails, the others go on until they are told to stop. */
function failing() {
  const signals: CallSignal[] = [];
  let count = 0;
  const chat: Handle<"chat"> = async function* (call) {
    const which = ++count;
    yield [piece(`no. ${which}`)];
    if (which === 2) {
      await vi.waitFor(() => expect(signals).toHaveLength(2));
      throw new LintelError("upstream_failed", "it broke");
    }
    signals.push(call.signal);
    await new Promise((_, fail) => {
      call.signal.addEventListener("abort", () => fail(call.signal.reason));
    });
  };
  return { chat, signals };
}

test.each([false, true])(
  "a failure of one is that of all, and ends the others: %s",
  async (stream) => {
    const { chat, signals } = failing();
    const retry = { ...routingDefaults.retry, attempts: 1 };
    const { post } = await serveChat(chat, { core: { routing: { ...routingDefaults, retry } } });
    const response = await post(path, hello({ n: 3, stream }));
    const text = await response.text();
    expect(response.status).toBe(stream ? 200 : 502);
    expect(text).toContain('"code":"upstream_failed"');
    expect(text.split('"error"')).toHaveLength(2);
    await vi.waitFor(() => expect(signals.every(({ aborted }) => aborted)).toBe(true));
  },
);

test("a client that leaves ends all of them", async () => {
  const signals: CallSignal[] = [];
  const { url } = await serveChat(async function* (call) {
    signals.push(call.signal);
    yield [piece("Hi")];
    await new Promise((_, fail) => {
      call.signal.addEventListener("abort", () => fail(call.signal.reason));
    });
  });
  const leaving = new AbortController();
  const response = await fetch(url + path, {
    ...{
      method: "POST",
      signal: leaving.signal,
      body: JSON.stringify(hello({ n: 2, stream: true })),
    },
    headers: { "content-type": "application/json", authorization: "Bearer me" },
  });
  await response.body?.getReader().read();
  await vi.waitFor(() => expect(signals).toHaveLength(2));
  leaving.abort();
  await vi.waitFor(() => expect(signals.every(({ aborted }) => aborted)).toBe(true));
});

test("count as so many, and one too many is refused as a whole", async () => {
  const { post } = await serve(scripted({ chat: says("Hi") }), {
    parts: {
      limits: {
        settings: { models: [], caller: { requestsPerMinute: 3 } },
        prices: [],
        store: memoryLimits(),
      },
    },
  });
  const told = await post(path, hello({ n: 2 }));
  expect([told.status, told.headers.get("x-ratelimit-remaining-requests")]).toEqual([200, "1"]);
  expect((await post(path, hello({ n: 2 }))).status).toBe(429);
});

test("are no answers that were kept, and are not kept", async () => {
  const cache = { ttlMs: 3_600_000, scope: "caller", maxAnswerBytes: 1000 } as const;
  const backend = scripted({ chat: counting() });
  const { post } = await serve(backend, { core: { cache }, parts: { cache: memoryCache(1e6) } });
  await json(await post(path, hello()));
  const said = async (n: number) => {
    const { choices } = await json(await post(path, hello({ n })));
    return choices.map(({ message }: { message: { content: string } }) => message.content);
  };
  expect(await said(2)).toEqual(["no. 2", "no. 3"]);
  expect(await said(1)).toEqual(["no. 1"]);
});

test("come again for the same Idempotency-Key", async () => {
  const backend = scripted({ chat: counting() });
  const { post } = await serve(backend, {
    parts: {
      idempotency: {
        store: new MemoryIdempotency({ ttlMs: 60_000, maxAnswerBytes: 1e6, maxBytes: 1e6 }),
        lingerMs: 1000,
      },
    },
  });
  const key = { "idempotency-key": "4a1f" };
  const [first, again] = [
    await post(path, hello({ n: 2 }), key),
    await post(path, hello({ n: 2 }), key),
  ];
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect((await json(again)).choices).toEqual((await json(first)).choices);
  expect(backend.asked).toHaveLength(2);
});

test.each([false, true])("call custom tools, each its own: %s", async (stream) => {
  const tools = [{ type: "custom", custom: { name: "f" } }];
  let count = 0;
  const { post } = await serveChat((call) => {
    const which = ++count;
    return callsTools(
      [toolCall(0, `c${which}`, "f", '{"input":')],
      [toolCall(0, "", "", `"${which}"}`)],
    )(call);
  });
  const text = await (await post(path, hello({ n: 2, tools, stream }))).text();
  for (const which of [1, 2]) {
    expect(text).toContain(`"id":"c${which}"`);
    expect(text).toContain(`"input":"${which}"`);
  }
});
