/** Calls in the form that OpenAI had before tools, which some OpenAI-compatible servers still answer in. */
import { describe, expect, it } from "vitest";
import { asked, weatherTools } from "./ai-sdk-calls.js";
import { backendFor, chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

const args = '{"city":"Rome"}';
const called = { name: "get_weather", arguments: args };

async function came(method: "chat" | "complete", script: Script) {
  const server = await serve(script);
  const { calls, text, finishReason } = await asked(opened(backendFor(server.url)), method, {
    tools: weatherTools,
  });
  return [text, calls, finishReason];
}

const whole =
  (message: object, finish_reason = "function_call"): Script =>
  (exchange) =>
    exchange.sendJson(200, {
      ...{ id: "c", object: "chat.completion", created: 1, model: "m" },
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
    });

const streamed =
  (deltas: readonly object[], finish = "function_call"): Script =>
  (exchange) =>
    exchange.stream(...deltas.map((delta) => chunk(delta)), chunk({}, finish), "data: [DONE]\n\n");

const one = ["", [[expect.stringMatching(/./), "get_weather", args]], "tool_calls"];

describe("a function_call", () => {
  it.each([
    ["", whole({ content: null, function_call: called })],
    [
      ", with its arguments as an object",
      whole({ function_call: { ...called, arguments: { city: "Rome" } } }),
    ],
    [", which ends with stop", whole({ content: "", function_call: called }, "stop")],
    [
      ", beside the same in tool_calls",
      whole({
        function_call: called,
        tool_calls: [{ id: "a", type: "function", function: called }],
      }),
    ],
  ])("is a call in a whole answer%s", async (_, script) => {
    expect(await came("complete", script)).toEqual(one);
    expect(await came("chat", script)).toEqual(one);
  });

  const pieces = [
    { role: "assistant", content: null, function_call: { name: "get_weather", arguments: "" } },
    { function_call: { arguments: '{"city":' } },
    { function_call: { arguments: '"Rome"}' } },
  ];

  it.each([
    ["", streamed(pieces)],
    [
      ", with its name in each",
      streamed(pieces.map((piece) => ({ function_call: { ...called, ...piece.function_call } }))),
    ],
    [", which ends with stop", streamed(pieces, "stop")],
    [
      ", beside the same in tool_calls",
      streamed(
        pieces.map(({ function_call }, index) => ({
          function_call,
          tool_calls: [{ index: 0, id: index === 0 ? "a" : undefined, function: function_call }],
        })),
      ),
    ],
  ])("is a call in a stream%s", async (_, script) => {
    expect(await came("chat", script)).toEqual(one);
  });

  it.each([null, {}, { name: "", arguments: "" }, "none"])(
    "is none where it says nothing: %j",
    async (function_call) => {
      const said = ["Hi", [], "stop"];
      expect(await came("complete", whole({ content: "Hi", function_call }, "stop"))).toEqual(said);
      expect(await came("chat", streamed([{ content: "Hi", function_call }], "stop"))).toEqual(
        said,
      );
    },
  );
});
