/** What models think, in `POST /v1/chat/completions`: asked for, told, and sent back in other words than the contract's. */
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { reasoningChoice, reasoningOf } from "../../src/core/reasoning.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { piece, says, scripted } from "../support/scripted.js";
import { token, withTokens } from "../support/tokens.js";
import { chunks, hello, json, serve, serveChat } from "./serve.js";

const completions = "/v1/chat/completions";

const details = [{ type: "reasoning.text", text: "Hm", signature: "abc", index: 0 }];

const thinksAndSays: Handle<"chat"> = async function* (call) {
  const reasoning = reasoningOf("Hm", JSON.stringify(details));
  yield [{ ...piece(""), choices: [reasoningChoice(reasoning)] }];
  yield* says("Hi")(call);
};

/** What a model that thinks is asked for a request that is answered, and what is warned of. */
async function askedFor(body: object) {
  const supports = [...chatModel("chat-1").supports, "reasoning_effort"];
  const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports })]);
  const { post } = await serve(backend);
  const { object, warnings = [] } = await json(await post(completions, hello(body)));
  expect(object).toBe("chat.completion");
  return { asked: backend.asked[0], warnings };
}

test("what was thought is what `reasoning_content` has, where both fields have something", async () => {
  const said = { role: "assistant", content: "Hi", reasoning: "Hm" };
  const messages = (more: object) => [
    ...hello().messages,
    { ...said, ...more },
    ...hello().messages,
  ];
  for (const [more, reasoningContent] of [
    [{}, "Hm"],
    [{ reasoning_content: "" }, "Hm"],
    [{ reasoning_content: "So" }, "So"],
  ] as const) {
    const { asked } = await askedFor({ messages: messages(more) });
    expect(asked).toMatchObject({ messages: [{}, { reasoningContent }, {}] });
  }
});

describe("how much shall be thought", () => {
  test.each([
    [{ reasoning_effort: "high" }, "high"],
    [{ reasoning_effort: "none" }, "none"],
    [{ reasoning_effort: null }, ""],
    [{ reasoning_effort: "" }, ""],
    [{ reasoning: { effort: "xhigh" } }, "xhigh"],
    [{ reasoning: { enabled: false } }, "none"],
    [{ reasoning: { enabled: true } }, "medium"],
    [{ reasoning: { enabled: true, effort: "low" } }, "low"],
    [{ reasoning: { effort: null }, reasoning_effort: "low" }, "low"],
    [{ reasoning: { effort: "high" }, reasoning_effort: "low" }, "high"],
    [{ thinking: { type: "disabled" } }, "none"],
    [{ thinking: { type: "enabled" } }, "medium"],
    [{ thinking: { type: "enabled", budget_tokens: 1024 } }, "low"],
    [{ thinking: { type: "enabled", budget_tokens: 0 } }, "none"],
    [{ thinking: true }, "medium"],
    [{ thinking: "deep" }, ""],
    [{ enable_thinking: false }, "none"],
    [{ enable_thinking: true, thinking_budget: 20_000 }, "high"],
    [{ think: false }, "none"],
    [{ think: true }, "medium"],
    [{ think: "high" }, "high"],
    [{ think: "hard" }, ""],
    [{ think: "high", enable_thinking: false }, "none"],
    [{ chat_template_kwargs: { enable_thinking: false } }, "none"],
    [{ chat_template_kwargs: { thinking: true } }, "medium"],
    [{ chat_template_kwargs: { reasoning_effort: "low", enable_thinking: false } }, "low"],
    [{ chat_template_kwargs: { other: 1 } }, ""],
    [{ chat_template_kwargs: "none" }, ""],
    [{ enable_thinking: false, reasoning_effort: "high" }, "high"],
    [{ enable_thinking: false, reasoning: { effort: "high" } }, "high"],
    [{ enable_thinking: false, reasoning: { exclude: true } }, "none"],
    [{ reasoning: {} }, ""],
    [{ reasoning: null }, ""],
  ])("%j is the effort %j", async (body, reasoningEffort) => {
    const { asked, warnings } = await askedFor(body);
    expect(asked).toMatchObject({ reasoningEffort });
    expect(warnings).toEqual([]);
  });

  test("in tokens is dropped, and said; it alone chooses no effort", async () => {
    const { asked, warnings } = await askedFor({ reasoning: { enabled: true, max_tokens: 5 } });
    expect(asked).toMatchObject({ reasoningEffort: "" });
    expect(warnings).toEqual(["reasoning.max_tokens: not supported, ignored"]);
  });

  test("is dropped for models without, and said", async () => {
    const plain = chatModel("chat-1", { supports: [] });
    const { post } = await serve(scripted({ chat: says("Hi") }, [plain]));
    const { warnings } = await json(await post(completions, hello({ reasoning_effort: "high" })));
    expect(warnings).toEqual([expect.stringMatching(/^reasoning_effort: .*this model/)]);
  });

  test.each([
    ["reasoning_effort", { reasoning_effort: "extreme" }],
    ["reasoning_effort", { reasoning_effort: 5 }],
    ["reasoning.effort", { reasoning: { effort: "extreme" } }],
    ["reasoning.effort", { reasoning: { effort: 5 } }],
    ["reasoning.exclude", { reasoning: { exclude: 1 } }],
    ["reasoning", { reasoning: true }],
    ["include_reasoning", { include_reasoning: "no" }],
  ])("422 by the client's name of the field: %s %j", async (param, body) => {
    const { post } = await serveChat(says("Hi"));
    for (const stream of [true, false]) {
      const response = await post(completions, hello({ ...body, stream }));
      expect(response.status).toBe(422);
      const { error } = await json(response);
      expect(error.param).toBe(param);
      expect(error.message).toContain(`${param}: `);
    }
  });
});

describe("what was thought", () => {
  test("stands in answers and in streams, unless nobody wants it", async () => {
    const { post } = await serveChat(thinksAndSays);
    const whole = async (more: object) =>
      (await json(await post(completions, hello(more)))).choices[0].message;
    const thought = { reasoning_content: "Hm", reasoning_details: details };
    expect(await whole({})).toEqual({ role: "assistant", content: "Hi", ...thought });
    for (const more of [{ reasoning: { exclude: true } }, { include_reasoning: false }]) {
      expect(await whole(more)).toEqual({ role: "assistant", content: "Hi" });
    }
    const stream = await chunks(await post(completions, hello({ stream: true })));
    expect(stream.map(({ choices }) => choices[0].delta)).toEqual([
      { role: "assistant", content: "", reasoning_content: "Hm" },
      { reasoning_details: details },
      { content: "Hi" },
      {},
    ]);
  });

  test.each([{ reasoning: {} }, { reasoning: { effort: "low" } }, { include_reasoning: true }])(
    "stands in `reasoning`, too, for who asks as OpenRouter's clients do: %j",
    async (more) => {
      const { post } = await serveChat(thinksAndSays);
      const { choices } = await json(await post(completions, hello(more)));
      const thought = { reasoning_content: "Hm", reasoning: "Hm", reasoning_details: details };
      expect(choices[0].message).toEqual({ role: "assistant", content: "Hi", ...thought });
      const stream = await chunks(await post(completions, hello({ stream: true, ...more })));
      expect(stream.map(({ choices }) => choices[0].delta)).toEqual([
        { role: "assistant", content: "", reasoning_content: "Hm", reasoning: "Hm" },
        { reasoning_details: details },
        { content: "Hi" },
        {},
      ]);
    },
  );

  test("stands there for OpenRouter's own libraries, whose whole answers have a fingerprint", async () => {
    const { post } = await serveChat(thinksAndSays);
    const agent = "speakeasy-sdk/python 0.11.46 2.914.0 1.0.0 openrouter";
    const whole = await json(await post(completions, hello(), { "user-agent": agent }));
    expect(whole).toMatchObject({
      system_fingerprint: null,
      choices: [{ message: { reasoning_content: "Hm", reasoning: "Hm" } }],
    });
    const streamed = await post(completions, hello({ stream: true }), { "user-agent": agent });
    const [first] = await chunks(streamed);
    expect(first.choices[0].delta).toMatchObject({ reasoning_content: "Hm", reasoning: "Hm" });
    const other = await json(await post(completions, hello(), { "user-agent": "OpenAI/Python" }));
    expect(other).not.toHaveProperty("system_fingerprint");
    expect(other.choices[0].message).not.toHaveProperty("reasoning");
  });

  test("stands in `reasoning`, too, beside tokens that are told", async () => {
    const thinks: Handle<"chat"> = async function* (call) {
      const thought = { ...piece(""), choices: [reasoningChoice(reasoningOf("Hm"))] };
      yield [withTokens(thought, token("Hm"))];
      yield* says("Hi")(call);
    };
    const { post } = await serveChat(thinks);
    const body = hello({ stream: true, logprobs: true, reasoning: { enabled: true } });
    const [, first] = await chunks(await post(completions, body));
    expect(first.choices[0].delta).toEqual({ reasoning_content: "Hm", reasoning: "Hm" });
  });

  const answer = { role: "assistant", content: "Hi" };
  const thought = (text: string) => ({ ...say("assistant", "Hi"), reasoningContent: text });

  test.each([
    [{ ...answer, reasoning_content: "Hm" }, thought("Hm")],
    [{ ...answer, reasoning: "Hm" }, thought("Hm")],
    [{ ...answer, content: [{ type: "text", text: "Hi" }], reasoning: "Hm" }, thought("Hm")],
    [{ ...answer, reasoning: "Hm", reasoning_content: "" }, thought("Hm")],
    [{ ...answer, reasoning: "So", reasoning_content: "Hm" }, thought("Hm")],
    [{ ...answer, reasoning: null, reasoning_content: null }, say("assistant", "Hi")],
    [
      { ...answer, reasoning: "Hm", reasoning_details: details },
      { ...thought("Hm"), reasoningDetails: JSON.stringify(details) },
    ],
    // Of others it is nothing that is known.
    [{ role: "user", content: "Hi", reasoning: "Hm" }, say("user", "Hi")],
  ])("comes back in %j", async (message, told) => {
    const { asked, warnings } = await askedFor({ messages: [message] });
    expect(asked).toMatchObject({ messages: [{ ...told, parts: expect.anything() }] });
    const [{ reasoningContent }] = (asked as unknown as { messages: [typeof told] }).messages;
    expect(reasoningContent).toBe(told.reasoningContent);
    expect(warnings).toEqual([]);
  });

  test.each([
    ["messages[1].reasoning", { ...answer, reasoning: { text: "Hm" } }],
    ["messages[1].reasoning_content", { ...answer, reasoning_content: 5 }],
    ["messages[1].reasoning_details", { ...answer, reasoning_details: ["Hm"] }],
    ["messages[1].reasoning_content", { role: "user", content: "Hi", reasoning_content: "Hm" }],
  ])("422 by the client's name of the field: %s %j", async (param, message) => {
    const { post } = await serveChat(says("Hi"));
    const messages = [{ role: "user", content: "Hello" }, message];
    const response = await post(completions, { messages });
    expect(response.status).toBe(422);
    const { error } = await json(response);
    expect(error.param).toBe(param);
    expect(error.message).toContain(`${param}: `);
  });
});
