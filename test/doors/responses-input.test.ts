/** `POST /v1/responses`: what reaches a backend of `input`. */
import { describe, expect, test } from "vitest";
import { toolCall } from "../../src/core/tool-calls.js";
import { imagePart, say, textPart } from "../support/messages.js";
import { askedFor } from "./responses-request.js";

const messagesFor = async (body: object) => (await askedFor(body)) as object;

const png = "data:image/png;base64,iVBORw0KGgo=";

const input = "Hello";

describe("input", () => {
  test("a text is the user's, instructions stand ahead", async () => {
    expect(await messagesFor({ input, instructions: "Be kind" })).toHaveProperty("messages", [
      say("system", "Be kind"),
      say("user", "Hello"),
    ]);
    for (const instructions of [null, ""]) {
      expect(await messagesFor({ input, instructions })).toHaveProperty("messages", [
        say("user", "Hello"),
      ]);
    }
  });

  test("messages, with a type and without, of text and of parts", async () => {
    const asked = await messagesFor({
      input: [
        { role: "developer", content: "Be kind" },
        { type: "message", role: "user", content: [{ type: "input_text", text: "What" }] },
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "…" },
        {
          ...{ type: "message", id: "msg_1", status: "completed", role: "assistant" },
          content: [
            { type: "output_text", text: "This", annotations: [] },
            { type: "refusal", refusal: ", not that" },
          ],
        },
        {
          type: null,
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "input_text", text: "b" },
          ],
        },
        { role: "assistant", content: [] },
      ],
    });
    expect(asked).toHaveProperty("messages", [
      say("developer", "Be kind"),
      say("user", "What"),
      say("assistant", "This, not that"),
      say("user", "ab"),
      say("assistant", ""),
    ]);
  });

  test("calls of tools belong to the assistant's message beside them", async () => {
    const call = (id: string) => ({
      ...{ type: "function_call", id: `fc_${id}`, status: "completed" },
      ...{ call_id: id, name: "f", arguments: `{"a":"${id}"}` },
    });
    const output = (id: string, said: unknown) => ({
      ...{ type: "function_call_output", call_id: id, output: said },
    });
    const asked = await messagesFor({
      input: [
        { role: "user", content: "go" },
        { role: "assistant", content: "I look" },
        { type: "reasoning", id: "rs_1", summary: [] },
        call("1"),
        call("2"),
        output("1", "one"),
        output("2", [
          { type: "input_text", text: "tw" },
          { type: "input_text", text: "o" },
        ]),
        call("3"),
        { role: "assistant", content: "and on" },
        { role: "assistant", content: "and on" },
        output("3", "three"),
        { role: "assistant", content: "done" },
      ],
    });
    const called = (...ids: string[]) => ({
      toolCalls: ids.map((id) => ({ ...toolCall(0, id, "f", `{"a":"${id}"}`) })),
    });
    expect(asked).toHaveProperty("messages", [
      say("user", "go"),
      say("assistant", "I look", called("1", "2")),
      say("tool", "one", { toolCallId: "1" }),
      say("tool", "two", { toolCallId: "2" }),
      say("assistant", "and on\n\nand on", called("3")),
      say("tool", "three", { toolCallId: "3" }),
      say("assistant", "done"),
    ]);
  });

  test("images stand among texts, also in what a tool says", async () => {
    const content = [
      { type: "input_text", text: "This: " },
      { type: "input_image", image_url: png.replace(";", ";name=a.png;"), detail: null },
      { type: "input_image", image_url: "https://example.com/a.png", detail: "low" },
    ];
    const asked = await messagesFor({
      input: [
        { role: "user", content },
        { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "1", output: content },
      ],
    });
    const parts = [
      textPart("This: "),
      imagePart(png),
      imagePart("https://example.com/a.png", "low"),
    ];
    expect(asked).toMatchObject({
      messages: [{ role: "user", content: "", parts }, {}, { role: "tool", content: "", parts }],
    });
  });

  test("what a server wants to see again with a call comes back as it went", async () => {
    const extra_content = { google: { thought_signature: "abc" } };
    const call = { type: "function_call", call_id: "1", name: "f", arguments: "{}", extra_content };
    const asked = await messagesFor({ input: [call] });
    expect(asked).toMatchObject({
      messages: [{ toolCalls: [{ extraContent: JSON.stringify(extra_content) }] }],
    });
  });
});
