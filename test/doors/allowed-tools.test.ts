import { expect, test } from "vitest";
import { says, scripted } from "../support/scripted.js";
import { hello, json, serve } from "./serve.js";

const named = (name: string) => ({ type: "function", function: { name } });
const tools = ["weather", "time", "places"].map(named);

/** A choice of OpenAI's clients. */
const among = (names: string[], mode = "auto") => ({
  tools,
  tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools: names.map(named) } },
});

const post = async (more: object) => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  return { backend, answer: await server.post("/v1/chat/completions", hello(more)) };
};

test.each(["auto", "required"])(
  "of tools that are allowed only those are offered: %s",
  async (mode) => {
    const { backend, answer } = await post(among(["places", "weather"], mode));
    expect(answer.status).toBe(200);
    expect(backend.asked[0]).toMatchObject({
      tools: [{ function: { name: "weather" } }, { function: { name: "places" } }],
      toolChoice: { type: mode },
    });
  },
);

test("none allowed is none offered", async () => {
  const { backend, answer } = await post(among([]));
  expect(answer.status).toBe(200);
  expect(backend.asked[0]).toMatchObject({ tools: [] });
});

test.each([
  ["tool_choice.allowed_tools.mode", among(["weather"], "none")],
  ["tool_choice.allowed_tools.mode", { tools, tool_choice: { type: "allowed_tools" } }],
  [
    "tool_choice.allowed_tools.tools",
    { tools, tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto" } } },
  ],
  ["tool_choice.allowed_tools.tools[1]", among(["weather", "news"])],
  ["tool_choice.allowed_tools.tools[0]", { ...among(["weather"]), tools: undefined }],
  ["tool_choice", among([], "required")],
])("422: %s", async (field, more) => {
  const { answer } = await post(more);
  expect(answer.status).toBe(422);
  expect((await json(answer)).error.param).toBe(field);
});
