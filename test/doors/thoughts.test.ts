/** What models think, and how much they shall, by every way in. */
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { connect, grpc, grpcWeb } from "../contract/transports.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { says, scripted, thinks, thought } from "../support/scripted.js";
import { chunks, hello, json, serve } from "./serve.js";

const paths = ["/llm", "/v1/chat/completions"];

const details = [{ type: "reasoning.text", text: 'Hm "7"\u2028', signature: "s", index: 0 }];
const thinking = thinks(
  [thought('Hm "7"'), thought("\u2028"), thought("", JSON.stringify(details))],
  "42",
  "!",
);

describe.each(paths)("POST %s", (path) => {
  test("hands on how much to think, and what was thought", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const messages = [
      { role: "user", content: "Hello" },
      { role: "assistant", content: "42", reasoning_content: "Hm.", reasoning_details: details },
      { role: "user", content: "Why?", reasoning_content: null, reasoning_details: null },
    ];
    const answer = await server.post(path, { messages, reasoning_effort: "low" });
    expect(answer.status).toBe(200);
    expect(backend.asked[0]).toMatchObject({
      reasoningEffort: "low",
      messages: [
        say("user", "Hello"),
        say("assistant", "42", {
          reasoningContent: "Hm.",
          reasoningDetails: JSON.stringify(details),
        }),
        say("user", "Why?"),
      ],
    });
  });

  test("tells in a whole answer what was thought, and counts it", async () => {
    const server = await serve(scripted({ chat: thinking }));
    const { choices, usage } = await json(await server.post(path, hello()));
    expect(choices[0].message).toEqual({
      ...{ role: "assistant", content: "42!" },
      ...{ reasoning_content: 'Hm "7"\u2028', reasoning_details: details },
    });
    expect(usage).toEqual({
      ...{ prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    });
  });

  test("streams it ahead of the answer", async () => {
    const server = await serve(scripted({ chat: thinking }));
    const request = hello({ stream: true, stream_options: { include_usage: true } });
    const all = await chunks(await server.post(path, request));
    const full = { role: "assistant", content: "" };
    const rest = path === "/llm" ? full : {};
    const deltas = all.flatMap(({ choices }) => choices).map(({ delta }) => delta);
    expect(deltas).toEqual([
      { ...full, reasoning_content: 'Hm "7"' },
      { ...rest, reasoning_content: "\u2028" },
      { ...rest, reasoning_details: details },
      { ...rest, content: "42" },
      { ...rest, content: "!" },
      rest,
    ]);
    expect(all.at(-1).usage.completion_tokens_details).toEqual({ reasoning_tokens: 3 });
  });

  test("has none for who wants none", async () => {
    const server = await serve(scripted({ chat: thinking }));
    const more = { include_reasoning: false };
    const { choices, usage } = await json(await server.post(path, hello(more)));
    expect(choices[0].message).toEqual({ role: "assistant", content: "42!" });
    expect(usage.completion_tokens).toBe(5);
    const all = await chunks(await server.post(path, hello({ ...more, stream: true })));
    const deltas = all.map(({ choices: [{ delta }] }) => delta);
    expect(JSON.stringify(deltas)).not.toContain("reasoning");
    expect(deltas.map(({ content = "" }) => content)).toEqual(["42", "!", ""]);
  });

  const said = (message: object) => ({ messages: [{ role: "user", content: "", ...message }] });
  test.each([
    ["reasoning_effort", hello({ reasoning_effort: "huge" })],
    ["reasoning_effort", hello({ reasoning_effort: 5 })],
    ["include_reasoning", hello({ include_reasoning: "no" })],
    ["messages[0].reasoning_content", said({ reasoning_content: "Hm." })],
    ["messages[0].reasoning_content", said({ role: "assistant", reasoning_content: ["Hm."] })],
    ["messages[0].reasoning_details", said({ reasoning_details: [] })],
    ["messages[0].reasoning_details", said({ role: "assistant", reasoning_details: {} })],
    ["messages[0].reasoning_details", said({ role: "assistant", reasoning_details: [1] })],
    ["messages[0].reasoning_details", said({ role: "assistant", reasoning_details: "[" })],
  ])("422: %s", async (field, body) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, body);
    expect(answer.status).toBe(422);
    const { error } = await json(answer);
    expect(error.param).toBe(field);
    expect(error.message).toContain(`${field}: `);
  });
});

test("says which efforts there are", async () => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const answer = await server.post("/llm", hello({ reasoning_effort: "huge" }));
  expect((await json(answer)).error.message).toBe(
    "reasoning_effort: must be one of none, minimal, low, medium, high, xhigh, max",
  );
});

test.each([
  ["low", ["reasoning_effort: not supported by this model, ignored"]],
  ["none", undefined],
])("a model that does not think is not asked to: %s", async (effort, told) => {
  const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]);
  const server = await serve(backend);
  const { warnings } = await json(await server.post("/llm", hello({ reasoning_effort: effort })));
  expect(warnings).toEqual(told);
  expect(backend.asked[0]).toMatchObject({ reasoningEffort: "" });
});

test.each([
  ["gRPC", grpc],
  ["gRPC-Web", grpcWeb],
  ["Connect", connect("JSON", "1.1")],
] as const)("%s tells it, and takes it back", async (_, open) => {
  const backend = scripted({ chat: thinking });
  const server = await serve(backend);
  const client = createClient(ChatService, open(server.url));
  const options = { headers: { authorization: "Bearer me" } };
  const before = { role: "assistant", reasoningContent: "Hm.", reasoningDetails: "[{}]" };
  const messages = [{ role: "user", content: "Hello" }, before];
  const request = { messages, reasoningEffort: "high" };
  const whole = await client.complete(request, options);
  const expected = { reasoningContent: 'Hm "7"\u2028', reasoningDetails: JSON.stringify(details) };
  expect(whole.choices[0]?.message).toMatchObject({ content: "42!", ...expected });
  expect(whole.usage).toMatchObject({ cachedTokens: 4, cacheWriteTokens: 2, reasoningTokens: 3 });
  const deltas: unknown[] = [];
  for await (const { choices } of client.chat(request, options)) {
    const { content, reasoningContent, reasoningDetails } = choices[0]?.delta ?? {};
    deltas.push(reasoningContent ?? reasoningDetails ?? content);
  }
  expect(deltas).toEqual(['Hm "7"', "\u2028", JSON.stringify(details), "42", "!", ""]);
  expect(backend.asked[0]).toMatchObject({ messages: [{}, before], reasoningEffort: "high" });
});
