/** OpenAI's own SDK for Node, unmodified. */
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  NotFoundError,
  UnprocessableEntityError,
} from "openai";
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { type Setting, serve } from "../doors/serve.js";
import { gate } from "../support/calls.js";
import {
  breaksAfter,
  hangsAfter,
  paints,
  piece,
  png,
  says,
  scripted,
} from "../support/scripted.js";

const messages = [{ role: "user" as const, content: "Hello" }];
const asked = { model: "chat-1", messages };

async function sdk(
  chat: Handle<"chat"> = says("Hi", " there"),
  setting?: Setting,
  options: ClientOptions = {},
) {
  const { url } = await serve(scripted({ chat, streamTextToImage: paints() }), setting);
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
      // The helper itself makes null of no text.
      message: { role: "assistant", content: null },
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
    expect(await create({ n: 2 })).toBeInstanceOf(BadRequestError);
  });

  test("a wrong token", async () => {
    const client = await sdk(says("Hi"), { core: { auth: { mode: "token", tokens: [] } } });
    const create = client.chat.completions.create(asked).catch((thrown: unknown) => thrown);
    expect(await create).toBeInstanceOf(AuthenticationError);
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

describe("openai: images", () => {
  test("generate, as address and inline", async () => {
    const client = await sdk();
    const prompt = "a cat";
    const byUrl = await client.images.generate({ prompt, n: 2, size: "1024x1024" });
    expect(byUrl.data?.map((image) => image.url)).toEqual(
      Array(2).fill(expect.stringMatching(/^http/)),
    );
    const inline = await client.images.generate({ prompt, response_format: "b64_json" });
    const bytes = Buffer.from(inline.data?.[0]?.b64_json ?? "", "base64");
    expect(bytes.subarray(0, 8)).toEqual(png(0).subarray(0, 8));
  });

  test("errors", async () => {
    const error = await (await sdk()).images
      .generate({ prompt: " " })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ param: "prompt" });
  });
});
