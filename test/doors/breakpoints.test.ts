/** OpenAI's marks for caches of prompts, in both of its APIs. */
import { describe, expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { json, serve } from "./serve.js";

const chats = "/v1/chat/completions";
const responses = "/v1/responses";
const png = "data:image/png;base64,iVBORw0KGgo=";
const marking = (ttl?: string) => ({ prompt_cache_breakpoint: { mode: "explicit", ttl } });

/** What a model that reads marks is told of a request that is answered without a warning: texts, and marks. */
async function told(path: string, body: object) {
  const models = [chatModel("chat-1", { supports: ["tools", "image_url", "cache_control"] })];
  const backend = scripted({ chat: says("Hi") }, models);
  const { post } = await serve(backend);
  const answer = await post(path, { model: "chat-1", ...body });
  expect(await json(answer)).not.toHaveProperty("warnings");
  expect(answer.status).toBe(200);
  return (backend.asked[0] as LLMRequest).messages.map(({ content, parts, cacheControl }) => [
    content,
    cacheControl?.ttl,
    ...parts.map((part) => [part.text ?? part.type, part.cacheControl?.ttl]),
  ]);
}

const inChat = (messages: object[], more: object = {}) => told(chats, { messages, ...more });
const inResponses = (input: object[], more: object = {}) => told(responses, { input, ...more });

describe("a breakpoint is a mark where it stands", () => {
  test("in chat completions", async () => {
    const messages = [
      { role: "system", content: [{ type: "text", text: "Be brief.", ...marking() }] },
      {
        role: "user",
        content: [
          { type: "text", text: "The book. ", ...marking() },
          { type: "image_url", image_url: { url: png }, ...marking() },
          { type: "text", text: "Who?" },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "She.", ...marking() }] },
    ];
    expect(await inChat(messages)).toEqual([
      ["Be brief.", ""],
      ["", undefined, ["The book. ", ""], ["image_url", ""], ["Who?", undefined]],
      ["She.", ""],
    ]);
  });

  test("in responses, also where what is said follows calls, and in what tools said", async () => {
    const text = (said: string) => ({ type: "input_text", text: said, ...marking() });
    const input = [
      { role: "developer", content: [text("Be brief.")] },
      { role: "user", content: [text("The book. "), { type: "input_text", text: "Who?" }] },
      { type: "function_call", call_id: "1", name: "find", arguments: "{}" },
      { role: "assistant", content: [{ type: "output_text", text: "I look. " }, text("Wait.")] },
      { type: "function_call_output", call_id: "1", output: [text("She.")] },
      { role: "user", content: [{ type: "input_image", image_url: png, ...marking() }] },
    ];
    expect(await inResponses(input)).toEqual([
      ["Be brief.", ""],
      ["", undefined, ["The book. ", ""], ["Who?", undefined]],
      ["I look. Wait.", ""],
      ["She.", ""],
      ["", undefined, ["image_url", ""]],
    ]);
  });

  test("the contract's own mark goes before it", async () => {
    const cache_control = { type: "ephemeral", ttl: "5m" };
    const content = [{ type: "text", text: "a", ...marking("12h"), cache_control }];
    expect(await inChat([{ role: "user", content }])).toEqual([["a", "5m"]]);
  });

  test("the contract's own mark counts by itself, too", async () => {
    const cache_control = { type: "ephemeral", ttl: "1h" };
    const marked = (type: string, text: string) => ({ type, text, cache_control });
    const user = [
      { type: "input_text", text: "a", cache_control },
      { type: "input_text", text: "b" },
    ];
    expect(
      await inResponses([
        { role: "system", content: [marked("input_text", "s")] },
        { role: "user", content: user },
        { role: "assistant", content: [{ type: "output_text", text: "c" }, marked("text", "d")] },
        { role: "user", content: [{ type: "input_image", image_url: png, cache_control }] },
      ]),
    ).toEqual([
      ["s", "1h"],
      ["", undefined, ["a", "1h"], ["b", undefined]],
      ["cd", "1h"],
      ["", undefined, ["image_url", "1h"]],
    ]);
  });
});

describe("it is kept for as long as is said, or longer", () => {
  const said = (...ttls: (string | undefined)[]) =>
    ttls.map((ttl, i) => ({
      role: "user",
      content: [{ type: "text", text: `${i}`, ...marking(ttl) }],
    }));
  const ttlsOf = async (messages: object[], more?: object) =>
    (await inChat(messages, more)).map(([, ttl]) => ttl);

  test.each([
    ["1m", "5m"],
    ["5m", "5m"],
    ["30m", "1h"],
    ["12h", "1h"],
  ])("%s is %s", async (ttl, ours) => {
    expect(await ttlsOf(said(ttl))).toEqual([ours]);
  });

  test("as the request says of all that say nothing", async () => {
    const more = { prompt_cache_options: { mode: "explicit", ttl: "30m" } };
    expect(await ttlsOf(said(undefined), more)).toEqual(["1h"]);
    const input = said(undefined).map(({ role, content }) => ({
      role,
      content: content.map((part) => ({ ...part, type: "input_text" })),
    }));
    expect((await inResponses(input, more)).map(([, ttl]) => ttl)).toEqual(["1h"]);
  });

  test("a mark ahead of one for an hour is for an hour, as Anthropic wants it", async () => {
    expect(await ttlsOf(said(undefined, "5m", "12h", undefined))).toEqual(["1h", "1h", "1h", ""]);
  });
});

test("a model that reads no marks is told the same with and without", async () => {
  const backend = scripted({ chat: says("Hi") });
  const { post } = await serve(backend);
  const ask = async (more: object) => {
    const content = [
      { type: "input_text", text: "The book. ", ...more },
      { type: "input_text", text: "Who?" },
    ];
    await (await post(responses, { input: [{ role: "user", content }] })).text();
  };
  await ask({});
  await ask(marking());
  const [without, marked] = backend.asked as LLMRequest[];
  expect(marked?.messages).toEqual(without?.messages);
});

test.each([
  [responses, "input", "input_text"],
  ["/v1/messages", "messages", "text"],
])("what is kept of answers is that of both: %s", async (path, name, type) => {
  const cache = { ttlMs: 3_600_000, scope: "caller", maxAnswerBytes: 1000 } as const;
  const models = [chatModel("chat-1", { supports: ["cache_control"] })];
  const backend = scripted({ chat: says("Hi") }, models);
  const server = await serve(backend, { core: { cache }, parts: { cache: memoryCache(1e6) } });
  const ask = (more: object) => {
    const parts = [
      { type, text: "The book. ", ...more },
      { type, text: "Who?" },
    ];
    return server.post(path, {
      ...{ model: "chat-1", max_tokens: 9 },
      [name]: [{ role: "user", content: parts }],
    });
  };
  await (await ask({})).text();
  const again = await ask(
    type === "text" ? { cache_control: { type: "ephemeral" } } : marking("12h"),
  );
  expect(again.headers.get("cache-status")).toMatch(/^lintel; hit/);
});

describe("what is none is named where it stands", () => {
  const at = "prompt_cache_breakpoint";
  const part = (mark: unknown) => ({ type: "text", text: "a", [at]: mark });
  const user = (...content: object[]) => [{ role: "user", content }];
  const time = "must be a time such as 30m";
  const own = { type: "text", text: "a", cache_control: { type: "ephemeral", ttl: "1d" } };
  const ttls = "must be one of 5m, 1h";
  test.each([
    [chats, { messages: user(part("x")) }, `messages.0.content.0.${at}`, "must be an object"],
    [
      chats,
      { messages: user(part(null), part({ mode: "implicit" })) },
      `messages.0.content.1.${at}.mode`,
      "must be explicit",
    ],
    [chats, { messages: user(part({ ttl: "soon" })) }, `messages.0.content.0.${at}.ttl`, time],
    [responses, { input: user(part({ ttl: 5 })) }, `input.0.content.0.${at}.ttl`, time],
    [responses, { input: user(own) }, "input.0.content.0.cache_control.ttl", ttls],
    [
      responses,
      { input: [...user(part(null)), { role: "assistant", content: [part(null), own] }] },
      "input.1.content.1.cache_control.ttl",
      ttls,
    ],
    [
      responses,
      { input: "a", prompt_cache_options: [] },
      "prompt_cache_options",
      "must be an object",
    ],
    [
      chats,
      { messages: user(), prompt_cache_options: { ttl: "1d" } },
      "prompt_cache_options.ttl",
      time,
    ],
  ])("%s %j", async (path, body, place, message) => {
    const { post } = await serve(scripted({ chat: says("Hi") }));
    const answer = await post(path, { model: "chat-1", ...body });
    expect(answer.status).toBe(422);
    const { detail } = await json(answer);
    const faults = detail.map(({ loc, msg }: { loc: unknown[]; msg: string }) => [
      loc.slice(1).join("."),
      msg,
    ]);
    expect(faults).toContainEqual([place, message]);
  });
});
