/** OpenAI's own SDK for Node on the Responses API, unmodified. */
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  UnprocessableEntityError,
} from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import type { ResponseInput } from "openai/resources/responses/responses";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Handle } from "../../src/core/call.js";
import { tokenCount } from "../../src/core/chat-messages.js";
import { invalidValue, LintelError, overflow } from "../../src/core/errors.js";
import { type Setting, serve } from "../doors/serve.js";
import {
  breaksAfter,
  hangsAfter,
  piece,
  type Scripted,
  says,
  scripted,
} from "../support/scripted.js";
import { citySchema, patchBackend, toldPatch, toldWeather, weatherBackend } from "./weather.js";

const asked = { model: "chat-1", input: "Hello" };

async function sdk(chat: Handle<"chat"> | Scripted = says("Hi", " there"), setting?: Setting) {
  const { url } = await serve(typeof chat === "function" ? scripted({ chat }) : chat, setting);
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
}

const weather = {
  ...({ type: "function", name: "weather", description: "The weather in a city." } as const),
  ...{ parameters: citySchema, strict: true },
};

describe("openai: responses", () => {
  test("create", async () => {
    const client = await sdk();
    const { data, request_id } = await client.responses.create(asked).withResponse();
    expect(data.output_text).toBe("Hi there");
    expect(data.usage?.total_tokens).toBe(9);
    expect(request_id).toBeTruthy();
  });

  test("inputTokens.count", async () => {
    const backend = scripted({
      async *countTokens() {
        yield [tokenCount(17)];
      },
    });
    const client = await sdk(backend);
    const counted = await client.responses.inputTokens.count({
      ...asked,
      instructions: "Briefly.",
    });
    expect(counted).toEqual({ object: "response.input_tokens", input_tokens: 17 });
    expect(backend.asked).toMatchObject([
      { messages: [{ role: "system", content: "Briefly." }, { content: "Hello" }] },
    ]);
  });

  test("create with stream", async () => {
    const stream = await (await sdk()).responses.create({ ...asked, stream: true });
    const types: string[] = [];
    let text = "";
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    expect(text).toBe("Hi there");
    expect([types[0], types.at(-1)]).toEqual(["response.created", "response.completed"]);
  });

  test("the stream helper", async () => {
    const runner = (await sdk()).responses.stream(asked);
    const snapshots: string[] = [];
    runner.on("response.output_text.delta", ({ snapshot }) => snapshots.push(snapshot));
    const response = await runner.finalResponse();
    expect(snapshots).toEqual(["Hi", "Hi there"]);
    expect(response).toMatchObject({ status: "completed", output_text: "Hi there" });
  });

  test("an answer that was cut says so", async () => {
    const cut: Handle<"chat"> = async function* () {
      yield [piece("Hi"), piece("", "length", [1, 2])];
    };
    const response = await (await sdk(cut)).responses.stream(asked).finalResponse();
    expect(response).toMatchObject({
      ...{ status: "incomplete", output_text: "Hi" },
      incomplete_details: { reason: "max_output_tokens" },
    });
  });

  test("tools are called, and what they say comes back", async () => {
    const backend = weatherBackend();
    const client = await sdk(backend);
    const input: ResponseInput = [{ role: "user", content: "Hello" }];
    const first = await client.responses.create({ ...asked, input, tools: [weather] });
    const streamed = await client.responses
      .stream({ ...asked, input, tools: [weather] })
      .finalResponse();
    for (const { output } of [first, streamed]) {
      const call = output.find(({ type }) => type === "function_call");
      expect(call).toMatchObject({ call_id: "c1", arguments: '{"city":"Rome"}' });
      const second = await client.responses.create({
        ...{ ...asked, tools: [weather], store: false },
        input: [
          ...input,
          ...(output as ResponseInput),
          { type: "function_call_output", call_id: "c1", output: "sunny" },
        ],
      });
      expect(second.output_text).toBe("It is sunny");
      expect(backend.asked.at(-1)).toMatchObject({ messages: toldWeather });
    }
  });

  test("custom tools are called, and what they say comes back", async () => {
    const backend = patchBackend();
    const client = await sdk(backend);
    const input: ResponseInput = [{ role: "user", content: "Hello" }];
    const tools = [{ type: "custom" as const, name: "patch" }];
    const first = await client.responses.create({ ...asked, input, tools });
    const stream = client.responses.stream({ ...asked, input, tools });
    const deltas: string[] = [];
    for await (const event of stream) {
      if (event.type === "response.custom_tool_call_input.delta") deltas.push(event.delta);
    }
    expect(deltas).toEqual(["a\n", "b"]);
    for (const { output } of [first, await stream.finalResponse()]) {
      expect(output).toMatchObject([
        { type: "custom_tool_call", call_id: "c1", name: "patch", input: "a\nb" },
      ]);
      const result = { type: "custom_tool_call_output" as const, call_id: "c1", output: "done" };
      const conversation = [...input, ...(output as ResponseInput), result];
      const second = await client.responses.create({ ...asked, tools, input: conversation });
      expect(second.output_text).toBe("It is done");
      expect(backend.asked.at(-1)).toMatchObject({ messages: toldPatch });
    }
  });

  test("parse, of a schema and of a tool's arguments", async () => {
    const client = await sdk(scripted({ chat: says('{"city":', '"Rome"}') }));
    const format = zodTextFormat(z.object({ city: z.string() }), "place");
    const place = await client.responses.parse({ ...asked, text: { format } });
    expect(place.output_parsed).toEqual({ city: "Rome" });
    const streamed = await client.responses.stream({ ...asked, text: { format } }).finalResponse();
    expect(streamed.output_parsed).toEqual({ city: "Rome" });

    const parameters = z.object({ city: z.string() });
    const tools = [zodResponsesFunction({ name: "weather", parameters })];
    const called = await (await sdk(weatherBackend())).responses.parse({ ...asked, tools });
    expect(called.output.at(-1)).toMatchObject({ parsed_arguments: { city: "Rome" } });
  });

  test("an abort reaches the backend", async () => {
    const { handle, aborted } = hangsAfter("Hi");
    const stream = await (await sdk(handle)).responses.create({ ...asked, stream: true });
    for await (const event of stream) if (event.type.endsWith("delta")) break;
    await aborted;
  });

  test("a failure in mid-stream is thrown with its message, by the helper, too", async () => {
    const client = await sdk(breaksAfter(new LintelError("upstream_failed", "it broke"), "Hi"));
    const read = async () => {
      for await (const _ of await client.responses.create({ ...asked, stream: true }));
    };
    for (const reading of [read, () => client.responses.stream(asked).finalResponse()]) {
      const error = await reading().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(APIError);
      expect(error).toMatchObject({
        code: "upstream_failed",
        message: expect.stringMatching("it broke"),
      });
    }
  });

  test("errors have their class, message and param", async () => {
    const client = await sdk();
    const create = (more: object) =>
      client.responses.create({ ...asked, ...more }).catch((thrown: unknown) => thrown);
    const invalid = await create({ max_output_tokens: 0 });
    expect(invalid).toBeInstanceOf(UnprocessableEntityError);
    expect(invalid).toMatchObject({ param: "max_output_tokens" });
    expect(await create({ model: "gpt-none" })).toBeInstanceOf(NotFoundError);
    const chained = await create({ previous_response_id: "resp_1" });
    expect(chained).toBeInstanceOf(BadRequestError);
    expect(chained).toMatchObject({ message: expect.stringMatching(/whole conversation/) });
    for (const asking of [
      () => client.responses.retrieve("resp_1"),
      () => client.responses.delete("resp_1"),
      () => client.responses.cancel("resp_1"),
      () => client.responses.inputItems.list("resp_1"),
    ]) {
      const error = await asking().then(undefined, (thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(NotFoundError);
      expect(error).toMatchObject({ message: expect.stringMatching(/nothing is kept/) });
    }
  });

  test("a conversation that is too long is thrown out of the stream, by OpenAI's code", async () => {
    const client = await sdk(breaksAfter(invalidValue("messages", `too long (${overflow})`)));
    const stream = await client.responses.create({ ...asked, stream: true });
    const types: string[] = [];
    const read = async () => {
      for await (const event of stream) types.push(event.type);
    };
    for (const reading of [read, () => client.responses.stream(asked).finalResponse()]) {
      const error = await reading().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(APIError);
      expect(error).toMatchObject({
        ...{ code: overflow, type: "invalid_request_error", param: "input" },
        message: expect.stringContaining("too long"),
      });
    }
    expect(types).toEqual(["response.created", "response.in_progress"]);
    const whole = await client.responses.create(asked).catch((thrown: unknown) => thrown);
    expect(whole).toBeInstanceOf(BadRequestError);
  });

  test("a wrong token", async () => {
    const client = await sdk(says("Hi"), { core: { auth: { mode: "token", tokens: [] } } });
    const create = client.responses.create(asked).catch((thrown: unknown) => thrown);
    expect(await create).toBeInstanceOf(AuthenticationError);
  });
});
