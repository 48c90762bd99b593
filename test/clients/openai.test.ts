/** OpenAI's own SDK for Node, unmodified. */
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  NotFoundError,
  UnprocessableEntityError,
} from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { type Setting, serve } from "../doors/serve.js";
import { gate } from "../support/calls.js";
import { isNewest } from "../support/newest.js";
import {
  breaksAfter,
  hangsAfter,
  paints,
  piece,
  type Scripted,
  says,
  scripted,
  usesTool,
} from "../support/scripted.js";
import { patchBackend, toldPatch } from "./weather.js";

const messages = [{ role: "user" as const, content: "Hello" }];
const asked = { model: "chat-1", messages };

async function sdk(
  chat: Handle<"chat"> | Scripted = says("Hi", " there"),
  setting?: Setting,
  options: ClientOptions = {},
) {
  const backend =
    typeof chat === "function" ? scripted({ chat, streamTextToImage: paints() }) : chat;
  const { url } = await serve(backend, setting);
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0, ...options });
}

describe("openai: chat", () => {
  test("create", async () => {
    const { data, request_id } = await (await sdk()).chat.completions.create(asked).withResponse();
    expect(data.choices[0]?.message).toEqual({ role: "assistant", content: "Hi there" });
    expect(data.usage?.total_tokens).toBe(9);
    expect(request_id).toBeTruthy();
  });

  test("create with stream", async () => {
    const stream = await (await sdk()).chat.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    const reasons: unknown[] = [];
    let total: number | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (chunk.choices[0]) reasons.push(chunk.choices[0].finish_reason);
      total = chunk.usage?.total_tokens;
    }
    expect(text).toBe("Hi there");
    expect(reasons).toEqual([null, null, "stop"]);
    expect(total).toBe(9);
  });

  test("the stream helper", async () => {
    const runner = (await sdk()).chat.completions.stream(asked);
    const deltas: string[] = [];
    runner.on("content", (delta) => deltas.push(delta));
    const completion = await runner.finalChatCompletion();
    expect(deltas).toEqual(["Hi", " there"]);
    expect(completion.choices[0]?.message).toMatchObject({
      role: "assistant",
      content: "Hi there",
    });
    expect(completion.choices[0]?.finish_reason).toBe("stop");
  });

  test("the stream helper, of an answer without text", async () => {
    const completion = await (await sdk(says())).chat.completions
      .stream(asked)
      .finalChatCompletion();
    expect(completion.choices[0]).toMatchObject({
      // The helper itself makes null of no text, up to version 6.
      message: { role: "assistant", content: isNewest ? "" : null },
      finish_reason: "stop",
    });
  });

  test("comments in the silence are no events", async () => {
    const commented = gate();
    const watch = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, out) {
        if (Buffer.from(bytes).includes(": keep-alive")) commented.open();
        out.enqueue(bytes);
      },
    });
    const chat: Handle<"chat"> = async function* (call) {
      yield [piece("Hi")];
      await commented.opened;
      yield* says(" there")(call);
    };
    const client = await sdk(
      chat,
      { doors: { keepAliveMs: 5 } },
      {
        fetch: async (...request) => {
          const answer = await fetch(...request);
          return new Response(answer.body?.pipeThrough(watch), answer);
        },
      },
    );
    const stream = await client.chat.completions.create({ ...asked, stream: true });
    const deltas: unknown[] = [];
    for await (const chunk of stream) deltas.push(chunk.choices[0]?.delta.content);
    expect(deltas).toEqual(["Hi", " there", undefined]);
  });

  test("an abort reaches the backend", async () => {
    const { handle, aborted } = hangsAfter("Hi");
    const stream = await (await sdk(handle)).chat.completions.create({ ...asked, stream: true });
    for await (const _ of stream) break;
    await aborted;
  });

  test("a failure in mid-stream is thrown with its message", async () => {
    const client = await sdk(breaksAfter(new LintelError("upstream_failed", "it broke"), "Hi"));
    const stream = await client.chat.completions.create({ ...asked, stream: true });
    let text = "";
    const read = async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    };
    const error = await read().catch((thrown: unknown) => thrown);
    expect(text).toBe("Hi");
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({
      code: "upstream_failed",
      message: expect.stringMatching("it broke"),
    });
  });

  test("errors have their class, message and param", async () => {
    const client = await sdk();
    const create = (more: object) =>
      client.chat.completions.create({ ...asked, ...more }).catch((thrown: unknown) => thrown);
    const invalid = await create({ max_completion_tokens: 0 });
    expect(invalid).toBeInstanceOf(UnprocessableEntityError);
    expect(invalid).toMatchObject({
      param: "max_completion_tokens",
      message: expect.stringMatching(/max_completion_tokens: must be/),
    });
    const unknown = await create({ model: "gpt-none" });
    expect(unknown).toBeInstanceOf(NotFoundError);
    expect(unknown).toMatchObject({ code: "model_not_found" });
    expect(await create({ moderation: { model: "m" } })).toBeInstanceOf(BadRequestError);
  });

  test("several answers, whole and streamed", async () => {
    const client = await sdk(says("Hi", " there"));
    const { choices } = await client.chat.completions.create({ ...asked, n: 3 });
    expect(choices.map(({ index, message }) => [index, message.content])).toEqual(
      [0, 1, 2].map((index) => [index, "Hi there"]),
    );
    const whole = await client.chat.completions.stream({ ...asked, n: 2 }).finalChatCompletion();
    expect(whole.choices.map(({ message }) => message.content)).toEqual(["Hi there", "Hi there"]);
  });

  test("a wrong token", async () => {
    const client = await sdk(says("Hi"), { core: { auth: { mode: "token", tokens: [] } } });
    const create = client.chat.completions.create(asked).catch((thrown: unknown) => thrown);
    expect(await create).toBeInstanceOf(AuthenticationError);
  });
});

describe("openai: tools", () => {
  const city = z.object({ city: z.string() });
  const weather = zodFunction({
    name: "weather",
    parameters: city,
    function: (it) => `sunny in ${it.city}`,
  });

  test.each(["whole", "streamed"])(
    "runTools calls them, and hands on what they say: %s",
    async (form) => {
      const backend = scripted({ chat: usesTool("weather") });
      const { completions } = (await sdk(backend)).chat;
      const task = { ...asked, tools: [weather] };
      const runner =
        form === "whole"
          ? completions.runTools(task)
          : completions.runTools({ ...task, stream: true });
      expect(await runner.finalContent()).toBe("sunny in Romesunny in Oslo");
      expect(backend.asked).toHaveLength(2);
      expect(backend.asked[1]).toMatchObject({
        messages: [
          { role: "user" },
          { role: "assistant", toolCalls: [{ id: "a" }, { id: "b" }] },
          { role: "tool", toolCallId: "a" },
          { role: "tool", toolCallId: "b" },
        ],
      });
    },
  );

  test("the stream helper reads their arguments", async () => {
    const { completions } = (await sdk(usesTool("weather"))).chat;
    const runner = completions.stream({ ...asked, tools: [weather] });
    const pieces: string[] = [];
    const read: unknown[] = [];
    runner.on("tool_calls.function.arguments.delta", (it) => pieces.push(it.arguments_delta));
    runner.on("tool_calls.function.arguments.done", (it) => read.push(it.parsed_arguments));
    const { choices } = await runner.finalChatCompletion();
    expect(pieces).toEqual(["", '{"city":', '"Rome"}', '{"city":"Oslo"}']);
    expect(read).toEqual([{ city: "Rome" }, { city: "Oslo" }]);
    expect(choices[0]?.finish_reason).toBe("tool_calls");
  });

  const place = zodResponseFormat(city, "place");

  test("custom tools are called, and what they say comes back", async () => {
    const backend = patchBackend();
    const client = await sdk(backend);
    const tools = [{ type: "custom" as const, custom: { name: "patch" } }];
    const { choices } = await client.chat.completions.create({ ...asked, tools });
    const message = choices[0]?.message as OpenAI.ChatCompletionMessage;
    expect(message.tool_calls).toEqual([
      { id: "c1", type: "custom", custom: { name: "patch", input: "a\nb" } },
    ]);
    const result = { role: "tool" as const, tool_call_id: "c1", content: "done" };
    const conversation = [...messages, message, result];
    const second = await client.chat.completions.create({
      ...asked,
      tools,
      messages: conversation,
    });
    expect(second.choices[0]?.message.content).toBe("It is done");
    expect(backend.asked.at(-1)).toMatchObject({ messages: toldPatch });
    const pieces: unknown[] = [];
    for await (const chunk of await client.chat.completions.create({
      ...asked,
      tools,
      stream: true,
    })) {
      pieces.push(...(chunk.choices[0]?.delta.tool_calls ?? []));
    }
    expect(pieces).toEqual([
      { index: 0, id: "c1", type: "custom", custom: { name: "patch", input: "a\n" } },
      { index: 0, custom: { input: "b" } },
    ]);
  });

  test("parse reads an answer by a schema, which reaches the backend as it is", async () => {
    const backend = scripted({ chat: says('{"city":', '"Rome"}') });
    const { completions } = (await sdk(backend)).chat;
    const whole = await completions.parse({ ...asked, response_format: place });
    expect(whole.choices[0]?.message.parsed).toEqual({ city: "Rome" });
    const runner = completions.stream({ ...asked, response_format: place });
    const streamed = await runner.finalChatCompletion();
    expect(streamed.choices[0]?.message.parsed).toEqual({ city: "Rome" });
    const { schema } = place.json_schema;
    for (const request of backend.asked) {
      expect(request).toMatchObject({
        responseFormat: {
          type: "json_schema",
          jsonSchema: { name: "place", schema: JSON.stringify(schema), strict: true },
        },
      });
    }
  });

  test("parse fails of what was cut, and says so", async () => {
    const cut: Handle<"chat"> = async function* () {
      yield [piece('{"city":')];
      yield [piece("", "length", [7, 1])];
    };
    const { completions } = (await sdk(cut)).chat;
    const parsing = completions.parse({ ...asked, response_format: place });
    await expect(parsing).rejects.toThrow(/length limit/);
  });
});

describe("openai: models", () => {
  test("list and retrieve", async () => {
    const client = await sdk();
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual(["chat-1", "image-1"]);
    expect((await client.models.retrieve("chat-1")).id).toBe("chat-1");
    await expect(client.models.retrieve("none")).rejects.toBeInstanceOf(NotFoundError);
  });
});
