import { describe, expect, test } from "vitest";
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

test.each([
  ["tools[2].function.parameters", { function: { name: "places", parameters: 7 } }, "Hello"],
  ["tools[2].type", { type: "other" }, "Hello"],
  ["tools[2].custom", { type: "custom", custom: 7 }, "Hello"],
  [
    "tools[2].custom.format.type",
    { type: "custom", custom: { name: "places", format: { type: "other" } } },
    "Hello",
  ],
  ["messages[0].content[0]", {}, [{ type: "image_url", image_url: { url: "no" } }]],
])("what is wrong is found where that stands: %s", async (field, more, content) => {
  const { answer } = await post({
    ...among(["time", "places"]),
    tools: [...tools.slice(0, 2), { ...named("places"), ...more }],
    messages: [{ role: "user", content }],
  });
  expect(answer.status).toBe(422);
  expect((await json(answer)).error.param).toContain(field);
});

describe("the Responses API's form", () => {
  const flat = (name: string, more: object = {}) => ({ type: "function", name, ...more });
  const sky = { type: "namespace", name: "sky", tools: [flat("moon")] };
  const offered = [flat("weather"), { type: "web_search" }, flat("time"), sky];
  const choice = (tools: unknown, mode: unknown = "auto") => ({
    ...{ model: "chat-1", input: "Hello", tools: offered },
    tool_choice: { type: "allowed_tools", mode, tools },
  });
  const ask = async (body: object) => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    return { backend, answer: await server.post("/v1/responses", body) };
  };

  test("offers those alone, and tells all tools again", async () => {
    const among = [flat("moon", { namespace: "sky" }), { type: "web_search" }, flat("time")];
    const { backend, answer } = await ask(choice(among, "required"));
    expect(backend.asked[0]).toMatchObject({
      tools: [{ function: { name: "time" } }, { function: { name: "sky__moon" } }],
      toolChoice: { type: "required" },
    });
    const offeredAgain = [flat("weather"), flat("time"), sky];
    expect(await json(answer)).toMatchObject({
      ...{ tools: offeredAgain, tool_choice: { type: "allowed_tools", mode: "required" } },
      warnings: ["tools: web_search is not supported, ignored"],
    });
  });

  test.each([
    ["tool_choice.mode", choice([flat("time")], "none")],
    ["tool_choice.tools", choice(undefined)],
    ["tool_choice.tools[1]", choice([flat("time"), flat("news")])],
    ["tool_choice.tools[0]", choice([null])],
    ["tool_choice", choice([{ type: "web_search" }], "required")],
  ])("422: %s", async (field, body) => {
    const { answer } = await ask(body);
    expect(answer.status).toBe(422);
    expect((await json(answer)).error.param).toBe(field);
  });

  test("finds what is wrong of all tools beside what is wrong of the choice", async () => {
    const broken = flat("time", { parameters: "{" });
    const body = { ...choice([flat("weather")], "none"), tools: [flat("weather"), broken] };
    const { answer } = await ask(body);
    const { detail } = await json(answer);
    expect(detail.map(({ loc }: { loc: unknown[] }) => loc.slice(1).join("."))).toEqual([
      "tools.1.parameters",
      "tool_choice.mode",
    ]);
  });

  test("finds what is wrong of a tool where that stands", async () => {
    const broken = { ...sky, tools: [flat("moon", { parameters: "{" })] };
    const tools = [...offered.slice(0, 3), broken];
    const among = [flat("moon", { namespace: "sky" })];
    const { answer } = await ask({ ...choice(among), tools });
    expect((await json(answer)).error.param).toBe("tools[3].tools[0].parameters");
  });
});
