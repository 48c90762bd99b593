/** Thoughts in the Messages API: as blocks, and back again. */
import { describe, expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { detailsOf, tokenUsage } from "../../src/core/chat-messages.js";
import { piece, says, scripted, thinks, thought } from "../support/scripted.js";
import { adaptive, streamed, usage, whole } from "./messages-asked.js";
import { hello, path } from "./messages-request.js";
import { json, serve } from "./serve.js";

describe("thoughts", () => {
  const details = [{ type: "reasoning.text", text: "Hm.", signature: "s", format: "f", index: 0 }];
  const thinking = thinks(
    [thought("H"), thought("m."), thought("", JSON.stringify(details))],
    "42",
  );
  const counted = {
    ...usage(1, 4, { output_tokens_details: { thinking_tokens: 3 } }),
    ...{ cache_read_input_tokens: 4, cache_creation_input_tokens: 2 },
  };

  test("tells how long what was written to a cache is kept, where that is told", async () => {
    const chat: Handle<"chat"> = async function* () {
      yield [piece("42")];
      yield [{ ...piece("", "stop"), usage: tokenUsage(9, 1, detailsOf(4, 3, undefined, 2)) }];
    };
    const told = {
      ...{ input_tokens: 2, cache_creation_input_tokens: 3, cache_read_input_tokens: 4 },
      cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
      output_tokens: 1,
    };
    expect((await whole(chat)).usage).toEqual(told);
    expect((await streamed(chat)).message.usage).toEqual(told);
  });

  test("are not told to who does not ask for them", async () => {
    const content = [{ type: "text", text: "42" }];
    expect((await whole(thinking)).content).toEqual(content);
    expect((await streamed(thinking)).message.content).toEqual(content);
  });

  test("are a block of their own, whose signature brings back what the server wants to see again", async () => {
    const backend = scripted({ chat: thinking });
    const server = await serve(backend);
    const answer = await json(await server.post(path, hello(adaptive)));
    const { message } = await streamed(thinking, adaptive);
    const [block] = answer.content;
    expect(answer.content).toEqual([
      {
        type: "thinking",
        thinking: "Hm.",
        signature: Buffer.from(JSON.stringify(details)).toString("base64"),
      },
      { type: "text", text: "42" },
    ]);
    expect(message.content).toEqual(answer.content);
    expect([answer.usage, message.usage]).toEqual([counted, counted]);
    const turns = [
      { role: "assistant", content: answer.content },
      { role: "user", content: "?" },
    ];
    await server.post(path, hello({ messages: [...hello().messages, ...turns] }));
    expect(backend.asked[1]).toMatchObject({
      messages: [
        {},
        {
          content: "42",
          reasoningContent: block.thinking,
          reasoningDetails: JSON.stringify(details),
        },
        {},
      ],
    });
  });

  test("of Claude have its own signature", async () => {
    const own = [{ ...details[0], format: "anthropic-claude-v1" }];
    const claude = thinks([thought("Hm."), thought("", JSON.stringify(own))], "42");
    const content = [
      { type: "thinking", thinking: "Hm.", signature: "s" },
      { type: "text", text: "42" },
    ];
    expect((await whole(claude, adaptive)).content).toEqual(content);
    expect((await streamed(claude, adaptive)).message.content).toEqual(content);
    const two = [...own, { ...own[0], index: 1 }];
    const twice = thinks([thought("Hm.Hm."), thought("", JSON.stringify(two))], "42");
    const { signature } = (await whole(twice, adaptive)).content[0];
    expect(JSON.parse(Buffer.from(signature, "base64").toString())).toEqual(two);
  });

  test("are all of an answer that says nothing, also where only their server can read them", async () => {
    // Clients (LiteLLM, the AI SDK) drop thoughts without a signature, so that no model sees them again.
    const content = [{ type: "thinking", thinking: "Hm.", signature: "W10=" }];
    expect((await whole(thinks([thought("Hm.")]), adaptive)).content).toEqual(content);
    expect((await streamed(thinks([thought("Hm.")]), adaptive)).message.content).toEqual(content);
    const unread = thinks([thought("", JSON.stringify(details))]);
    const [block, ...more] = (await whole(unread, adaptive)).content;
    expect(block).toMatchObject({ type: "thinking", thinking: "" });
    expect(block.signature).not.toBe("");
    expect(more).toEqual([]);
  });

  test("that nobody is to see are in their signature, and reach the model server again", async () => {
    const hidden = { thinking: { type: "adaptive", display: "omitted" } };
    const backend = scripted({ chat: thinking });
    const server = await serve(backend);
    const answer = await json(await server.post(path, hello(hidden)));
    const { events, message } = await streamed(thinking, hidden);
    expect(answer.content).toEqual([
      { type: "thinking", thinking: "", signature: expect.stringMatching(/^[\w+/]+=*$/) },
      { type: "text", text: "42" },
    ]);
    expect(message.content).toEqual(answer.content);
    expect(JSON.stringify([events, answer])).not.toContain("Hm.");
    const turns = [
      { role: "assistant", content: answer.content },
      { role: "user", content: "?" },
    ];
    await server.post(path, hello({ messages: [...hello().messages, ...turns] }));
    const again = { reasoningContent: "Hm.", reasoningDetails: JSON.stringify(details) };
    expect(backend.asked[1]).toMatchObject({ messages: [{}, { content: "42", ...again }, {}] });
    const alone = thinks([thought("Hm.")], "42");
    const [block] = (await whole(alone, hidden)).content;
    const { message: other } = await streamed(alone, hidden);
    expect(other.content).toEqual([block, { type: "text", text: "42" }]);
    await server.post(path, hello({ messages: [{ role: "assistant", content: [block] }] }));
    const [first] = (backend.asked[2] as LLMRequest).messages;
    expect(first?.reasoningContent).toBe("Hm.");
    expect(first?.reasoningDetails).toBeUndefined();
    expect((await whole(says("42"), hidden)).content).toEqual([{ type: "text", text: "42" }]);
  });

  test("may come again behind a text, and without words", async () => {
    const chat = async function* () {
      yield [thought("a"), piece("b"), thought("c")];
      yield [piece("d"), thought("", '[{"type":"reasoning.encrypted","data":"x"}]')];
      yield [piece("", "stop")];
    };
    const { message } = await streamed(chat, adaptive);
    // biome-ignore lint/suspicious/noExplicitAny: blocks are looked at as a client would
    expect(message.content.map((it: any) => [it.type, it.thinking ?? it.text])).toEqual([
      ["thinking", "a"],
      ["text", "b"],
      ["thinking", "c"],
      ["text", "d"],
      ["thinking", ""],
    ]);
    const kept = Buffer.from(message.content[4].signature, "base64").toString();
    expect(JSON.parse(kept)).toEqual([{ type: "reasoning.encrypted", data: "x" }]);
  });

  test.each([
    ["in words", ""],
    [
      "in words, and what its server wants to see again",
      '[{"type":"reasoning.encrypted","data":"x"}]',
    ],
  ])(
    "in the midst of JSON, which clients read from one block, come behind it: %s",
    async (_, kept) => {
      const chat = async function* () {
        yield [
          thought("a"),
          piece('{"b":'),
          thought("c", kept),
          piece("1"),
          thought("d"),
          piece("}"),
        ];
        yield [piece("", "stop")];
      };
      const format = { type: "json_schema", schema: { type: "object" } };
      const { message } = await streamed(chat, { ...adaptive, output_config: { format } });
      const signature = Buffer.from(kept || "[]").toString("base64");
      expect(message.content).toMatchObject([
        { type: "thinking", thinking: "a", signature: "W10=" },
        { type: "text", text: '{"b":1}' },
        { type: "thinking", thinking: "cd", signature },
      ]);
    },
  );
});
