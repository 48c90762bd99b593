/** `messages` of Anthropic's API, and what becomes of them. */
import { describe, expect, test } from "vitest";
import { toolCall } from "../../src/core/tool-calls.js";
import { imagePart, say, textPart } from "../support/messages.js";
import { says, scripted } from "../support/scripted.js";
import { ask, asked, messagesOf, path, text } from "./messages-request.js";
import { json, serve } from "./serve.js";

describe("messages", () => {
  test("are texts, or texts in blocks, behind what the model is told before anything else", async () => {
    const body = {
      ...ask(
        { role: "user", content: [text("a"), text("b")] },
        { role: "assistant", content: "c" },
      ),
      system: [
        text("x-anthropic-billing-header: cc_version=2.1.1;"),
        { ...text("Be brief."), cache_control: { type: "ephemeral" } },
        text("Be kind."),
      ],
    };
    expect(await messagesOf(body)).toEqual([
      say("system", "Be brief.\n\nBe kind."),
      say("user", "a\n\nb"),
      say("assistant", "c"),
    ]);
    const [first] = await messagesOf({ ...body, system: "Be brief." });
    expect(first).toEqual(say("system", "Be brief."));
    const empty = [text(""), text("a"), text(""), text("b"), text("")];
    const told = await messagesOf({
      ...ask(
        { role: "user", content: empty },
        { role: "assistant", content: [text(""), text("")] },
      ),
      system: empty,
    });
    expect(told).toEqual([say("system", "a\n\nb"), say("user", "a\n\nb"), say("assistant", "")]);
    const noteAlone = { ...body, system: [text("x-anthropic-billing-header: a")] };
    expect((await messagesOf(noteAlone))[0]).toEqual(say("user", "a\n\nb"));
  });

  test("show images, in them or by their address, and texts of documents", async () => {
    const blocks = [
      text("This:"),
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw==" } },
      {
        type: "image",
        source: { type: "base64", media_type: "image/jpeg; name=a.jpg", data: "AAAA" },
      },
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "A letter." } },
    ];
    expect(await messagesOf(ask({ role: "user", content: blocks }))).toEqual([
      say("user", "", {
        parts: [
          textPart("This:"),
          imagePart("data:image/png;base64,iVBORw=="),
          imagePart("data:image/jpeg;base64,AAAA"),
          imagePart("https://example.com/a.png"),
          textPart("A letter."),
        ],
      }),
    ]);
  });

  test("tell titles with the texts of documents, and what a search found", async () => {
    const letter = { type: "text", media_type: "text/plain", data: "Dear." };
    const found = {
      ...{ type: "search_result", source: "https://example.com/a", title: 'On "A"' },
      ...{ content: [text("One."), text("Two.")], citations: { enabled: true } },
    };
    const told =
      '<search_result title="On \\"A\\"" source="https://example.com/a">\nOne.\n\nTwo.\n</search_result>';
    const body = ask(
      {
        role: "user",
        content: [
          { type: "document", title: "a letter", source: letter },
          { type: "document", title: "two", source: { type: "content", content: [text("a")] } },
          { type: "document", title: null, source: letter },
          found,
        ],
      },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "look", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: [found] }] },
    );
    const [said, , returned] = await messagesOf(body);
    const files = ['a letter">\nDear.', 'two">\na'].map((it) => `<file name="${it}\n</file>`);
    expect(said).toEqual(say("user", [...files, "Dear.", told].join("\n\n")));
    expect(returned).toEqual(say("tool", told, { toolCallId: "a" }));
  });

  test("have calls and what came of them, each in a message of its own, ahead of what is said", async () => {
    const picture = { type: "base64", media_type: "image/png", data: "iVBORw==" };
    const body = ask(
      { role: "user", content: "Rome?" },
      {
        role: "assistant",
        content: [
          text("Let me"),
          text(" look."),
          { type: "tool_use", id: "a", name: "weather", input: { city: "Rome" } },
          { type: "tool_use", id: "b", name: "now", input: {}, extra_content: { google: {} } },
          { type: "tool_use", id: "c", name: "map", input: {} },
          { type: "tool_use", id: "d", name: "fail", input: {} },
          { type: "tool_use", id: "e", name: "rest", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          text("Well?"),
          { type: "tool_result", tool_use_id: "a", content: "sunny" },
          { type: "tool_result", tool_use_id: "b", content: [text("ten"), text("past")] },
          {
            ...{ type: "tool_result", tool_use_id: "c" },
            content: [text("see:"), { type: "image", source: picture }],
          },
          { type: "tool_result", tool_use_id: "d", is_error: true },
          { type: "tool_result", tool_use_id: "e" },
        ],
      },
    );
    expect(await messagesOf(body)).toEqual([
      say("user", "Rome?"),
      say("assistant", "Let me look.", {
        toolCalls: [
          toolCall(0, "a", "weather", '{"city":"Rome"}'),
          toolCall(0, "b", "now", "{}", '{"google":{}}'),
          toolCall(0, "c", "map", "{}"),
          toolCall(0, "d", "fail", "{}"),
          toolCall(0, "e", "rest", "{}"),
        ],
      }),
      say("tool", "sunny", { toolCallId: "a" }),
      say("tool", "ten\npast", { toolCallId: "b" }),
      say("tool", "see:", { toolCallId: "c" }),
      say("tool", "error", { toolCallId: "d" }),
      say("tool", "", { toolCallId: "e" }),
      say("user", "", {
        parts: [imagePart("data:image/png;base64,iVBORw=="), textPart("Well?")],
      }),
    ]);
  });

  test("of what tools said alone are no message of the user's", async () => {
    const result = { type: "tool_result", tool_use_id: "a", content: "sunny" };
    const body = ask({ role: "user", content: [result] });
    expect(await messagesOf(body)).toEqual([say("tool", "sunny", { toolCallId: "a" })]);
  });

  test("name the tools that a search of the client's found", async () => {
    const found = ["a", "b"].map((tool_name) => ({ type: "tool_reference", tool_name }));
    const body = ask(
      { role: "assistant", content: [{ type: "tool_use", id: "s", name: "search", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "s", content: found }] },
    );
    expect((await messagesOf(body))[1]).toEqual(say("tool", "a\nb", { toolCallId: "s" }));
  });

  test("do not tell which of Anthropic's models went on", async () => {
    const fallback = { type: "fallback", from: { model: "a" }, to: { model: "b" } };
    const body = ask({ role: "assistant", content: [text("a"), fallback, text("b")] });
    expect(await messagesOf(body)).toEqual([say("assistant", "ab")]);
  });

  test("have thoughts, with Claude's own signatures in the form that others know", async () => {
    const body = ask(
      { role: "user", content: "6 × 7?" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "Erk=" },
          { type: "redacted_thinking", data: "xyz" },
          { type: "thinking", thinking: "Yes.", signature: "" },
          text("42"),
        ],
      },
    );
    const [, assistant] = await messagesOf(body);
    expect(assistant).toMatchObject({ content: "42", reasoningContent: "Hm.\n\nYes." });
    const format = "anthropic-claude-v1";
    expect(JSON.parse(assistant?.reasoningDetails ?? "")).toEqual([
      { type: "reasoning.text", text: "Hm.", signature: "Erk=", format, index: 0 },
      { type: "reasoning.encrypted", data: "xyz", format, index: 1 },
    ]);
  });
});

describe("messages of the system in between", () => {
  const system = (more: object) => ({ role: "system", ...more });
  const users = (content: string) => ({ role: "user", content });

  test("are told as such, those that are cleared until the user says more", async () => {
    const clear_at = "next_user_message";
    const body = ask(
      users("a"),
      system({ content: "For now.", clear_at }),
      { role: "assistant", content: "b" },
      system({ content: "Always.", clear_at: "never" }),
      users("c"),
      system({ content: [text("For this.")], clear_at }),
    );
    expect(await messagesOf(body)).toEqual([
      say("user", "a"),
      say("assistant", "b"),
      say("system", "Always."),
      say("user", "c"),
      say("system", "For this."),
    ]);
  });

  test("that say how to answer are warned of, and nothing where they say nothing else", async () => {
    const { request, warnings } = await asked(
      ask(users("a"), system({ output_config: { effort: "low" } })),
    );
    expect(request.messages).toEqual([say("user", "a")]);
    expect(warnings).toEqual(["messages: output_config in them is not supported, ignored"]);
    const nothing = await asked(ask(users("a"), system({ content: "b", output_config: {} })));
    expect(nothing.warnings).toEqual([]);
    expect(nothing.request.messages).toEqual([say("user", "a"), say("system", "b")]);
  });

  const change = (type: string, tool: object) => ({ type, tool });
  const reference = (name: string) => ({ type: "tool_reference", name });
  const defined = (definition: object) => ({ type: "tool_definition", definition });
  const tools = [{ name: "a" }, { name: "b" }, { type: "bash_20250124", name: "bash" }];

  test("add tools and take them away", async () => {
    const offered = async (...content: object[]) => {
      const said = { ...ask(users("a"), system({ content })), tools };
      const { request, warnings } = await asked(said);
      expect(request.messages).toEqual([say("user", "a")]);
      return [request.tools.map(({ function: it }) => it?.name).join(), warnings.length];
    };
    const removal = (name: string) => change("tool_removal", reference(name));
    const addition = (name: string) => change("tool_addition", reference(name));
    const definition = (it: object) => change("tool_addition", defined(it));
    expect(await offered(removal("a"))).toEqual(["b", 1]);
    expect(await offered(removal("a"), addition("a"), removal("b"))).toEqual(["a", 1]);
    expect(await offered(definition({ name: "c" }), removal("bash"))).toEqual(["a,b,c", 1]);
    expect(await offered(definition({ name: "c" }), removal("c"))).toEqual(["a,b", 1]);
    expect(await offered(removal("b"), definition({ name: "b" }))).toEqual(["a,b", 1]);
    const web = { type: "web_search_20250305", name: "web_search" };
    expect(await offered(definition(web))).toEqual(["a,b", 2]);
    const ofServer = { type: "mcp_toolset_reference", server_name: "s" };
    expect(await offered(change("tool_removal", ofServer))).toEqual(["a,b", 1]);
    const alone = ask(users("a"), system({ content: [text("b"), definition({ name: "c" })] }));
    const { request } = await asked(alone);
    expect(request.tools).toMatchObject([{ function: { name: "c" } }]);
    expect(request.messages).toEqual([say("user", "a"), say("system", "b")]);
  });

  test("define one anew that was dropped for its type: it may have to be called", async () => {
    const bash = { name: "bash", input_schema: { type: "object" } };
    const content = [
      change("tool_removal", reference("bash")),
      change("tool_addition", defined(bash)),
    ];
    const tool_choice = { type: "tool", name: "bash" };
    const said = { ...ask(users("a"), system({ content })), tools, tool_choice };
    const { request, warnings } = await asked(said);
    expect(request.tools.map(({ function: it }) => it?.name)).toEqual(["a", "b", "bash"]);
    expect(request.toolChoice).toMatchObject({ type: "function", function: { name: "bash" } });
    expect(warnings).toEqual([]);
  });

  test.each<[string, object]>([
    ["tool", { type: "tool_addition" }],
    ["tool.type", change("tool_addition", { type: "tool", name: "a" })],
    ["tool.type", change("tool_removal", defined({ name: "a" }))],
    ["tool.name", change("tool_removal", reference("c"))],
    ["tool.name", change("tool_addition", { type: "tool_reference" })],
    ["tool.definition.name", change("tool_addition", defined({ name: 5 }))],
    [
      "tool.definition.input_schema",
      change("tool_addition", defined({ name: "c", input_schema: [] })),
    ],
  ])("422 where such a change can't be read: %s", async (member, block) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const body = { ...ask(users("a"), system({ content: [text("b"), block] })), tools };
    const answer = await server.post(path, body);
    expect(answer.status).toBe(422);
    const param = `messages[1].content[1].${member}`;
    expect((await json(answer)).error).toMatchObject({ code: "invalid_fields", param });
  });
});
