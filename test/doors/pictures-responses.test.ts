/** Pictures that a model draws in its answer, in OpenAI's Responses API. */
import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { drawnImage, imagesChoice } from "../../src/core/drawn.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { say } from "../support/messages.js";
import { callsTools, piece, says, scripted } from "../support/scripted.js";
import { asked, asks, at, data, drawing, drawn, signature, url } from "./drawing-model.js";
import { responseEvents } from "./response-events.js";
import { json, serve } from "./serve.js";

describe("POST /v1/responses", () => {
  const path = "/v1/responses";
  const input = "Draw.";
  const items = [
    {
      ...{ type: "image_generation_call", status: "completed", output_format: "png", result: data },
      extra_content: signature,
    },
    { type: "image_generation_call", status: "completed", result: at },
  ];

  test("has an item for each", async () => {
    const backend = scripted({ chat: drawing });
    const server = await serve(backend);
    const { output } = await json(await server.post(path, { input, ...asks }));
    expect(output).toMatchObject([
      { type: "message", content: [{ text: "Here they are." }] },
      ...items,
    ]);
    expect(new Set(output.map(({ id }: { id: string }) => id)).size).toBe(3);
    expect(backend.asked[0]).toMatchObject(asked);
  });

  test("has no message where nothing is said; the last picture is where an answer was cut off", async () => {
    const cut = async function* () {
      for (const one of drawn) yield [{ ...piece(""), choices: [imagesChoice([one])] }];
      yield [piece("", "length", [7, 9])];
    };
    const server = await serve(scripted({ chat: cut }));
    const { output } = await json(await server.post(path, { input }));
    expect(output).toMatchObject([items[0], { ...items[1], status: "incomplete" }]);
  });

  test("has calls behind them; the last is where an answer was cut off", async () => {
    const cut = async function* () {
      yield [{ ...piece(""), choices: [imagesChoice(drawn)] }];
      yield* callsTools([toolCall(0, "a", "f", "{}"), toolCall(1, "b", "f", '{"a')])({} as never);
    };
    const ends = async function* () {
      for await (const batch of cut()) {
        yield (batch as LLMResponse[]).map((it) => {
          const [choice] = it.choices;
          return choice?.finishReason ? { ...piece("", "length", [7, 9]) } : it;
        });
      }
    };
    const server = await serve(scripted({ chat: ends }));
    const tools = [{ type: "function", name: "f", parameters: { type: "object" } }];
    const { output } = await json(await server.post(path, { input, tools }));
    expect(
      output.map(({ type, status }: { type: string; status: string }) => [type, status]),
    ).toEqual([
      ["image_generation_call", "completed"],
      ["image_generation_call", "completed"],
      ["function_call", "completed"],
      ["function_call", "incomplete"],
    ]);
  });

  test("streams them between messages", async () => {
    const server = await serve(scripted({ chat: drawing }));
    const events = await responseEvents(await server.post(path, { input, stream: true }));
    const { output } = events.at(-1).response;
    const told = (text: string) => ({ type: "message", content: [{ text }] });
    expect(output).toMatchObject([told("Here "), ...items, told("they are.")]);
    const ofPicture = events.filter(({ output_index }) => output_index === 1);
    expect(ofPicture.map(({ type }) => type)).toEqual([
      "response.output_item.added",
      "response.image_generation_call.in_progress",
      "response.image_generation_call.completed",
      "response.output_item.done",
    ]);
    const [begun, , , done] = ofPicture;
    expect(begun.item).toMatchObject({ status: "in_progress", result: null });
    expect(done.item).toEqual(output[1]);
  });

  test("takes them back, as one message with what is said beside", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const jpeg = { type: "image_generation_call", id: "ig_1", result: "/9j/4AAQ" };
    const empty = { type: "image_generation_call", id: "ig_2", status: "failed", result: null };
    const answer = await server.post(path, {
      input: [
        { role: "user", content: "Draw." },
        { role: "assistant", content: "Here." },
        ...[items[0], jpeg, empty],
        { role: "assistant", content: "There." },
        { role: "user", content: "More." },
        { type: "image_generation_call", result: data },
      ],
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
    const [first] = drawn;
    expect(
      backend.asked[0]?.$typeName === "lintel.v1.LLMRequest" && backend.asked[0].messages,
    ).toEqual(
      [
        say("user", "Draw."),
        say("assistant", "Here.\n\nThere.", {
          images: [first as never, drawnImage("data:image/jpeg;base64,/9j/4AAQ")],
        }),
        say("user", "More."),
        say("assistant", "", { images: [drawnImage(url)] }),
      ].map((message) => expect.objectContaining(message)),
    );
  });

  test("takes them back with what was thought ahead of one", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const reasoning = { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] };
    const input = [
      { role: "user", content: "Draw." },
      { role: "assistant", content: "Here." },
      ...[reasoning, { type: "image_generation_call", result: data }],
      { role: "user", content: "More." },
    ];
    await server.post(path, { input });
    expect(backend.asked[0]).toMatchObject({
      messages: [{}, { content: "Here.", reasoningContent: "Hm.", images: [drawnImage(url)] }, {}],
    });
  });

  test.each([
    ["input[1].result", { result: "?" }],
    ["input[1].result", { result: 5 }],
    ["input[1].extra_content", { result: data, extra_content: 5 }],
  ])("422: %s", async (param, more) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const item = { type: "image_generation_call", ...more };
    const answer = await server.post(path, { input: [{ role: "user", content: "Draw." }, item] });
    expect([answer.status, (await json(answer)).error.param]).toEqual([422, param]);
  });
});
