/** What Mistral's clients say to `POST /v1/chat/completions` otherwise than OpenAI's. */
import { describe, expect, test } from "vitest";
import { filePart, say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { breaksAfter, says, scripted, usesTool } from "../support/scripted.js";
import { asked } from "./asked.js";
import { weather } from "./offered.js";
import { chunks, hello, json, serve, serveChat } from "./serve.js";

const completions = "/v1/chat/completions";

/** The error of a request that is refused. */
async function errorOf(body: object, status: number) {
  const { post } = await serveChat(says("Hi"));
  const answer = await post(completions, body);
  expect(answer.status).toBe(status);
  return (await json(answer)).error;
}

describe("parameters", () => {
  test.each([
    [{ tools: [weather], tool_choice: "any" }, { toolChoice: { type: "required" } }],
    [{ random_seed: null, safe_prompt: false, guardrails: [], prompt_mode: null }, {}],
  ])("%j", async (more, told) => {
    const { request, warnings } = await asked(completions, hello(more));
    expect(request).toMatchObject(told);
    expect(warnings).toEqual([]);
  });

  test("the mode is dropped, and said", async () => {
    const { warnings } = await asked(completions, hello({ prompt_mode: "reasoning" }));
    expect(warnings).toEqual(["prompt_mode: not supported, ignored"]);
  });

  test("that an answer shall go on from its begin is dropped, and said", async () => {
    const begin = { role: "assistant", content: "Once upon", prefix: true };
    const messages = [...hello().messages, { ...begin, prefix: false }];
    expect((await asked(completions, { messages })).warnings).toEqual([]);
    expect((await asked(completions, { messages: [...messages, begin] })).warnings).toEqual([
      "messages: prefix in them is not supported, ignored",
    ]);
  });

  test.each([
    ["safe_prompt", { safe_prompt: true }],
    ["guardrails", { guardrails: [{ block_on_error: true }] }],
  ])("%s is refused", async (param, more) => {
    expect(await errorOf(hello(more), 400)).toMatchObject({
      code: "unsupported_parameter",
      param,
    });
  });

  test("a model that can't be made to call refuses `any`", async () => {
    const { post } = await serve(
      scripted({ chat: says("Hi") }, [chatModel("m", { supports: [] })]),
    );
    const answer = await post(completions, hello({ tools: [weather], tool_choice: "any" }));
    expect(answer.status).toBe(400);
    expect((await json(answer)).error).toMatchObject({ param: "tool_choice" });
  });
});

describe("documents", () => {
  const pdf = "data:application/pdf;base64,JVBERi0=";
  const part = (more: object) => ({ type: "document_url", ...more });
  const body = (...content: object[]) => ({ messages: [{ role: "user", content }] });

  test("are files", async () => {
    const text = { type: "text", text: "Read this." };
    const { request, warnings } = await asked(
      completions,
      body(text, part({ document_url: pdf, document_name: "a.pdf" }), part({ document_url: pdf })),
    );
    const [, ...files] = request.messages[0]?.parts ?? [];
    expect(files).toEqual([filePart(pdf, "a.pdf"), filePart(pdf)]);
    expect(warnings).toEqual([]);
  });

  test.each([
    ["messages[0].content[0].document_url", {}],
    ["messages[0].content[0].document_url", { document_url: "a.pdf" }],
    ["messages[0].content[0].document_url", { document_url: { url: pdf } }],
    ["messages[0].content[0].document_name", { document_url: pdf, document_name: 5 }],
  ])("422 by the client's name of the field: %s %j", async (param, more) => {
    expect(await errorOf(body(part(more)), 422)).toMatchObject({ param });
  });

  test("by an id of a file are refused as files are", async () => {
    const { message, param } = await errorOf(body({ type: "file", file_id: "f" }), 400);
    expect(param).toBe("messages[0].content[0]");
    expect(message).toContain("a file by its file_id is not supported, only file_data");
  });
});

describe("thoughts among what a model said", () => {
  const thought = (thinking: unknown) => ({ type: "thinking", thinking });
  const text = (said: string) => ({ type: "text", text: said });
  const body = (role: string, content: unknown[], more = {}) => ({
    messages: [...hello().messages, { role, content, ...more }, ...hello().messages],
  });

  test.each([
    [[thought([text("Hm, "), text("so")]), text("Hi")], {}, "Hm, so"],
    [[thought("Hm"), text("Hi"), thought([text(" so")])], {}, "Hm so"],
    [[thought([{ type: "reference", reference_ids: [1] }, text("Hm")]), text("Hi")], {}, "Hm"],
    [[thought([text("Hm")]), text("Hi")], { reasoning_content: "So" }, "So"],
    [[thought([text("Hm")]), text("Hi")], { reasoning: "So" }, "So"],
  ])("%j %j", async (content, more, reasoningContent) => {
    const { request, warnings } = await asked(completions, body("assistant", content, more));
    expect(request.messages[1]).toEqual(say("assistant", "Hi", { reasoningContent }));
    expect(warnings).toEqual([]);
  });

  test("of nothing are none", async () => {
    const content = [thought([]), thought(null), text("Hi")];
    const { request } = await asked(completions, body("assistant", content));
    expect(request.messages[1]).toEqual(say("assistant", "Hi"));
  });

  test("other parts keep their places", async () => {
    const content = [thought("Hm"), { type: "text" }];
    const { param } = await errorOf(body("assistant", content), 422);
    expect(param).toBe("messages[1].content[1].text");
  });

  test("422 of what is no text, nor parts", async () => {
    const { param } = await errorOf(body("assistant", [thought(5), text("Hi")]), 422);
    expect(param).toBe("messages[1].content[0].thinking");
  });

  test.each(["user", "system"])("%s says none", async (role) => {
    const { param } = await errorOf(body(role, [thought([text("Hm")])]), 400);
    expect(param).toBe("messages[1].content[0]");
  });
});

describe("calls in a stream", () => {
  const body = { ...hello({ stream: true }), tools: [weather] };
  const whole = [
    {
      index: 0,
      id: "a",
      type: "function",
      function: { name: "weather", arguments: '{"city":"Rome"}' },
    },
    {
      index: 1,
      id: "b",
      type: "function",
      function: { name: "weather", arguments: '{"city":"Oslo"}' },
    },
  ];
  const callsOf = (all: Awaited<ReturnType<typeof chunks>>) =>
    all.flatMap(({ choices }) => choices[0]?.delta?.tool_calls ?? []);

  test.each(["mistral-client-python/3.7.0", "mistral-client-typescript/2.7.0"])(
    "are whole for Mistral's own client: %s",
    async (agent) => {
      const { post } = await serveChat(usesTool("weather"));
      const all = await chunks(await post(completions, body, { "user-agent": agent }));
      expect(callsOf(all)).toEqual(whole);
      expect(all.map(({ choices: [choice] }) => choice.finish_reason)).toEqual([
        null,
        "tool_calls",
      ]);
    },
  );

  test("come in pieces for all others", async () => {
    const { post } = await serveChat(usesTool("weather"));
    const pieces = callsOf(await chunks(await post(completions, body)));
    expect(pieces.length).toBeGreaterThan(whole.length);
  });

  test("text comes as it is said, and a failure as it is", async () => {
    const { post } = await serveChat(breaksAfter(new Error("broken"), "He", "llo"));
    const headers = { "user-agent": "mistral-client-python/3.7.0" };
    const all = await chunks(await post(completions, body, headers));
    expect(all.map(({ choices, error }) => choices?.[0].delta.content ?? error.code)).toEqual([
      "He",
      "llo",
      "internal",
    ]);
  });
});
