/** Calls of tools as model servers give them, in the contract's form: ids, names, whole characters, counts. */
import { describe, expect, test } from "vitest";
import type { ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import { deltaChoice } from "../../src/core/chat-messages.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { callsTools, piece, scripted } from "../support/scripted.js";
import { calls, format, parameters, weather } from "./offered.js";
import { chunks, hello, json, serve } from "./serve.js";

describe("a model server's calls get the contract's form", () => {
  const streamed = async (...sent: ToolCall[][]) => {
    const server = await serve(scripted({ chat: callsTools(...sent) }));
    const all = await chunks(await server.post("/llm", hello({ stream: true })));
    return all.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
  };

  test("an id where it gave none", async () => {
    const [first, more, second] = await streamed(
      [toolCall(0, "", "f", "{")],
      [toolCall(0, "", "", "}")],
      [toolCall(1, "", "f", "{}")],
    );
    expect(first.id).toMatch(/^call_[\w-]{24}$/);
    expect(more).toEqual({ index: 0, function: { arguments: "}" } });
    expect(second.id).not.toBe(first.id);
    const server = await serve(scripted({ chat: callsTools([toolCall(0, "", "f", "{}")]) }));
    const { choices } = await json(await server.post("/llm", hello()));
    expect(choices[0].message.tool_calls[0].id).toMatch(/^call_/);
  });

  test("id and name once, where it repeats them", async () => {
    const [, ...more] = await streamed(
      [toolCall(0, "a", "f", "{")],
      [toolCall(0, "a", "", " ")],
      [toolCall(0, "a", "f", "}")],
    );
    expect(more).toEqual([" ", "}"].map((args) => ({ index: 0, function: { arguments: args } })));
  });

  test("whole characters, also where the pieces of several calls end with halves", async () => {
    const sent = [
      [toolCall(0, "a", "f", "\ud83d"), toolCall(1, "b", "f", "{\ud83d")],
      [toolCall(0, "", "", "\ude00-\ud800"), toolCall(1, "", "", "\ude01}")],
    ];
    const told = await streamed(...sent);
    const argumentsOf = (i: number) =>
      told.map(({ index, function: called }) => (index === i ? called.arguments : "")).join("");
    expect([argumentsOf(0), argumentsOf(1)]).toEqual(["\u{1f600}-\ufffd", "{\u{1f601}}"]);
    const server = await serve(scripted({ chat: callsTools(...sent) }));
    const { choices } = await json(await server.post("/llm", hello()));
    expect(choices[0].message.tool_calls).toMatchObject([
      { function: { arguments: "\u{1f600}-\ufffd" } },
      { function: { arguments: "{\u{1f601}}" } },
    ]);
  });

  test.each([
    ["tool_calls", "{}"],
    ["stop", "{}"],
    ["length", ""],
  ])("an object where there are no arguments, and the reason is %s: %s", async (reason, args) => {
    const sent = [toolCall(0, "a", "f", ""), toolCall(1, "b", "f", '{"c":1}')];
    const chat = async function* () {
      yield [{ ...piece(""), choices: [deltaChoice("", reason, sent)] }];
    };
    const server = await serve(scripted({ chat }));
    const whole = await json(await server.post("/llm", hello()));
    const argumentsOf = (told: { function: { arguments: string } }[]) =>
      told.map(({ function: called }) => called.arguments);
    expect(argumentsOf(whole.choices[0].message.tool_calls)).toEqual([args, '{"c":1}']);
    const all = await chunks(await server.post("/llm", hello({ stream: true })));
    const told = all.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
    const ofFirst = told.filter(({ index }) => index === 0);
    expect(argumentsOf(ofFirst).join("")).toBe(args);
    expect(ofFirst.slice(1)).toEqual(args ? [{ index: 0, function: { arguments: args } }] : []);
  });

  test("a name that comes behind its call's id, or its arguments, stands in the first piece", async () => {
    const whole = { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const late = [[toolCall(0, "a", "", "")], [toolCall(0, "", "f", "{}")]];
    expect(await streamed(...late)).toEqual([whole]);
    const later = [
      [toolCall(0, "a", "", "{")],
      [toolCall(0, "", "", "}"), toolCall(0, "", "f", "")],
    ];
    expect(await streamed(...later)).toEqual([whole]);
  });

  test("a name that never comes is empty", async () => {
    const [first, ...more] = await streamed(
      [toolCall(0, "a", "", '{"a":')],
      [toolCall(0, "", "", "1}")],
    );
    expect(first?.function).toEqual({ name: "", arguments: '{"a":1}' });
    expect(more).toEqual([]);
  });

  test.each([
    ["stop", "tool_calls"],
    ["tool_calls", "tool_calls"],
    ["length", "length"],
    ["content_filter", "content_filter"],
  ])("the reason %s of an answer that calls is %s", async (said, expected) => {
    const server = await serve(
      scripted({
        async *chat(call) {
          for await (const batch of callsTools([toolCall(0, "a", "f", "{}")])(call)) {
            yield batch.map((message) => ({
              ...message,
              choices: message.choices.map((choice) => ({
                ...choice,
                finishReason: choice.finishReason && said,
              })),
            }));
          }
        },
      }),
    );
    const whole = await json(await server.post("/llm", hello()));
    expect(whole.choices[0].finish_reason).toBe(expected);
    const all = await chunks(await server.post("/llm", hello({ stream: true })));
    expect(all.at(-1).choices[0].finish_reason).toBe(expected);
  });

  test("counts, where it gave none: of what was offered, called, and said", async () => {
    const silent = scripted({
      async *chat() {
        const { choices } = piece("");
        const [choice] = choices;
        if (choice?.delta) choice.delta.toolCalls = [toolCall(0, "a", "weather", '{"a":"bcd"}')];
        yield [{ ...piece(""), choices }];
        yield [piece("", "tool_calls")];
      },
    });
    const server = await serve(silent);
    const bare = await json(await server.post("/llm", hello()));
    expect(bare.usage_estimated).toBe(true);
    // 18 bytes of name and arguments.
    expect(bare.usage.completion_tokens).toBe(5);
    const [last] = (await chunks(await server.post("/llm", hello({ stream: true })))).slice(-1);
    expect(last.usage).toEqual(bare.usage);
    const prompt = async (more: object) =>
      (await json(await server.post("/llm", hello(more)))).usage.prompt_tokens;
    const { prompt_tokens: least } = bare.usage;
    // 7 bytes of the name, 12 of the description, 77 of the schema, and the marks around them.
    expect(JSON.stringify(parameters)).toHaveLength(77);
    expect(await prompt({ tools: [weather] })).toBe(least + 2 + 3 + 20 + 4);
    expect(await prompt({ response_format: format })).toBe(least + 20);
    const called = { role: "assistant", tool_calls: calls.slice(0, 1) };
    // 7 and 15 bytes, and the marks around the message and the call.
    expect(await prompt({ messages: [...hello().messages, called] })).toBe(least + 4 + 2 + 4 + 4);
  });
});
