/** Anthropic's own SDK, and the AI SDK's provider for it, unmodified. */
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic, {
  APIError,
  AuthenticationError,
  NotFoundError,
  RateLimitError,
  UnprocessableEntityError,
} from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { tokenCount } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { serve } from "../doors/serve.js";
import { breaksAfter, piece, type Scripted, says, scripted } from "../support/scripted.js";
import { thinker, toldThoughts } from "./thinker.js";
import { citySchema, toldWeather, weatherBackend } from "./weather.js";

const question = { role: "user" as const, content: "Hello" };
const asked = { model: "chat-1", max_tokens: 100, messages: [question] };
const parameters: Anthropic.Tool.InputSchema = { ...citySchema, required: ["city"] };
const weather = {
  name: "weather",
  description: "The weather in a city.",
  input_schema: parameters,
};
const adaptive = { type: "adaptive" as const };

async function sdk(chat: Handle<"chat"> | Scripted = says("Hi", " there"), apiKey = "me") {
  const { url } = await serve(typeof chat === "function" ? scripted({ chat }) : chat);
  return new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
}

describe("@anthropic-ai/sdk", () => {
  test("create", async () => {
    const { data, request_id } = await (await sdk()).messages.create(asked).withResponse();
    expect(data.content).toEqual([{ type: "text", text: "Hi there" }]);
    expect(data).toMatchObject({ stop_reason: "end_turn", usage: { output_tokens: 2 } });
    expect(request_id).toBeTruthy();
  });

  test("create with a bearer token in place of a key", async () => {
    const { url } = await serve(scripted({ chat: says("Hi") }));
    const client = new Anthropic({ baseURL: url, apiKey: null, authToken: "me", maxRetries: 0 });
    expect((await client.messages.create(asked)).stop_reason).toBe("end_turn");
  });

  test("the stream helper", async () => {
    const texts: string[] = [];
    const stream = (await sdk()).messages.stream(asked).on("text", (text) => texts.push(text));
    expect(await stream.finalText()).toBe("Hi there");
    expect(texts).toEqual(["Hi", " there"]);
    expect((await stream.finalMessage()).usage).toMatchObject({
      input_tokens: 7,
      output_tokens: 2,
    });
  });

  test.each([false, true])("tools, in a stream: %s", async (streams) => {
    const backend = weatherBackend();
    const { messages } = await sdk(backend);
    const ask = (turns: Anthropic.MessageParam[]) => {
      const body = { ...asked, messages: turns, tools: [weather] };
      return streams ? messages.stream(body).finalMessage() : messages.create(body);
    };
    const first = await ask([question]);
    expect(first.stop_reason).toBe("tool_use");
    const [, use] = first.content;
    expect(use).toMatchObject({ type: "tool_use", name: "weather", input: { city: "Rome" } });
    const tool_use_id = (use as Anthropic.ToolUseBlock).id;
    const result = { type: "tool_result" as const, tool_use_id, content: "sunny" };
    const second = await ask([
      question,
      { role: "assistant", content: first.content },
      { role: "user", content: [result] },
    ]);
    expect(second.content).toMatchObject([{ type: "text", text: "It is sunny" }]);
    expect(backend.asked.at(-1)).toMatchObject({ messages: toldWeather });
  });

  test.each([false, true])(
    "the tool runner, which adds a tool on its way and takes one away, in a stream: %s",
    async (stream) => {
      const backend = weatherBackend();
      const { beta } = await sdk(backend);
      const told = { description: "The weather in a city.", inputSchema: citySchema };
      const runs = betaTool({ ...told, name: "weather", run: ({ city }) => `sunny in ${city}` });
      const old = betaTool({ ...told, name: "old", run: () => "" });
      const now = betaTool({ ...told, name: "now", run: () => "" });
      const runner = beta.messages.toolRunner({ ...asked, tools: [runs, old], stream });
      for await (const _ of runner) {
        if (backend.asked.length > 1) continue;
        runner.addTools(now);
        runner.removeTools("old");
      }
      const { content } = await runner.done();
      const offered = backend.asked.map((it) =>
        (it as LLMRequest).tools.map(({ function: called }) => called?.name),
      );
      expect(offered).toEqual([
        ["weather", "old"],
        ["weather", "now"],
      ]);
      expect(content).toMatchObject([{ type: "text", text: "It is sunny in Rome" }]);
    },
  );

  test.each([false, true])(
    "thoughts come back to the model server, in a stream: %s",
    async (streams) => {
      const { backend, bodies } = await thinker();
      const { messages } = await sdk(backend as Scripted);
      const ask = (turns: Anthropic.MessageParam[]) => {
        const body = { ...asked, messages: turns, tools: [weather], thinking: adaptive };
        return streams ? messages.stream(body).finalMessage() : messages.create(body);
      };
      const first = await ask([question]);
      expect(first.content[0]).toMatchObject({ type: "thinking", thinking: "I should look" });
      expect(first.usage).toMatchObject({
        ...{ input_tokens: 1, cache_read_input_tokens: 4, cache_creation_input_tokens: 2 },
      });
      await ask([
        question,
        { role: "assistant", content: first.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "sunny" }] },
      ]);
      expect(bodies().at(-1)?.messages.at(-2)).toMatchObject(toldThoughts);
    },
  );

  test("an image, and a form of the answer", async () => {
    const backend = scripted({ chat: says('{"city":"Rome"}') });
    const data = "iVBORw0KGgo=";
    const source = { type: "base64", media_type: "image/png", data } as const;
    const content = [
      { type: "image" as const, source },
      { type: "text" as const, text: "Where?" },
    ];
    const format = { type: "json_schema" as const, schema: { ...citySchema } };
    const client = await sdk(backend);
    const { parsed_output } = await client.messages.parse({
      ...{ model: "chat-1", max_tokens: 100, messages: [{ role: "user", content }] },
      output_config: { format },
    });
    expect(parsed_output).toEqual({ city: "Rome" });
    expect(backend.asked[0]).toMatchObject({
      messages: [{ parts: [{ imageUrl: { url: `data:image/png;base64,${data}` } }, {}] }],
      responseFormat: { type: "json_schema" },
    });
  });

  test("models", async () => {
    const client = await sdk();
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(["chat-1", "image-1"]);
    expect(await client.models.retrieve("chat-1")).toMatchObject({ display_name: "chat-1" });
  });

  test("errors by their classes, before the answer and in the middle of it", async () => {
    const client = await sdk();
    const refused = (body: object) =>
      client.messages.create({ ...asked, ...body }).catch((thrown) => thrown);
    expect(await refused({ model: "nope" })).toBeInstanceOf(NotFoundError);
    const wrong = await refused({ temperature: 9 });
    expect(wrong).toBeInstanceOf(UnprocessableEntityError);
    expect(wrong).toMatchObject({ type: "invalid_request_error", requestID: expect.any(String) });
    const busy = await sdk(breaksAfter(new LintelError("rate_limited", "busy")));
    await expect(busy.messages.create(asked)).rejects.toBeInstanceOf(RateLimitError);
    const stranger = await sdk(says("Hi"), " ");
    await expect(stranger.messages.create(asked)).rejects.toBeInstanceOf(AuthenticationError);
    const broken = await sdk(breaksAfter(new LintelError("upstream_failed", "it broke"), "Hel"));
    const stream = broken.messages.stream(asked);
    let text = "";
    stream.on("text", (piece) => (text += piece));
    const thrown = await stream.done().catch((reason) => reason);
    expect(thrown).toBeInstanceOf(APIError);
    expect(thrown.message).toContain("it broke");
    expect(text).toBe("Hel");
  });

  test("countTokens", async () => {
    const backend = scripted({
      async *countTokens() {
        yield [tokenCount(17)];
      },
    });
    const client = await sdk(backend);
    const asked = { model: "chat-1", messages: [question], system: "Be brief." };
    expect(await client.messages.countTokens(asked)).toEqual({ input_tokens: 17 });
    expect(backend.asked).toMatchObject([{ messages: [{ content: "Be brief." }, {}] }]);
    const wrong = client.messages.countTokens({ ...asked, messages: [] });
    await expect(wrong).rejects.toBeInstanceOf(UnprocessableEntityError);
  });
});

describe("@ai-sdk/anthropic", () => {
  const provider = async (chat: Handle<"chat"> | Scripted) => {
    const { url } = await serve(typeof chat === "function" ? scripted({ chat }) : chat);
    return createAnthropic({ baseURL: `${url}/v1`, apiKey: "me" })("chat-1");
  };
  const tools = {
    weather: tool({
      description: "The weather in a city.",
      inputSchema: jsonSchema<{ city: string }>({ ...citySchema }),
      execute: async () => "sunny",
    }),
  };
  const common = { prompt: "Hello", maxRetries: 0 };

  test("generates and streams a text, with tools", async () => {
    const backend = weatherBackend();
    const model = await provider(backend);
    const stopWhen = stepCountIs(2);
    expect((await generateText({ ...common, model, tools, stopWhen })).text).toBe("It is sunny");
    const { textStream } = streamText({ ...common, model, tools, stopWhen });
    const texts: string[] = [];
    for await (const text of textStream) texts.push(text);
    expect(texts.join("")).toBe("I lookIt is sunny");
    expect(backend.asked.at(-1)).toMatchObject({ messages: toldWeather });
  });

  test("shows thoughts, and sends them back", async () => {
    const { backend, bodies } = await thinker();
    const model = await provider(backend as Scripted);
    const thinking = { type: "enabled" as const, budgetTokens: 2000 };
    const { steps } = await generateText({
      ...{ ...common, model, tools, stopWhen: stepCountIs(2) },
      providerOptions: { anthropic: { thinking } },
    });
    expect(steps.map(({ reasoningText }) => reasoningText)).toEqual([
      "I should look",
      "Now I know",
    ]);
    expect(bodies().at(-1)?.messages.at(-2)).toMatchObject(toldThoughts);
    expect(bodies()[0]).toMatchObject({ reasoning_effort: "low" });
  });

  test("makes an object by a schema", async () => {
    const model = await provider(async function* () {
      yield [piece('{"city":"Rome"}'), piece("", "stop", [1, 1])];
    });
    const schema = jsonSchema<{ city: string }>({ ...citySchema });
    const { output } = await generateText({ ...common, model, output: Output.object({ schema }) });
    expect(output).toEqual({ city: "Rome" });
  });
});
