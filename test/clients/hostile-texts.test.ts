/** Streams of texts as odd servers write them, by each vendor's own SDK: an answer by a schema can be read. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { GoogleGenAI } from "@google/genai";
import { type LanguageModel, Output, streamText } from "ai";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { chunk } from "../backends/openai-subject.js";
import { chunks } from "../doors/serve.js";
import { streamed } from "./streamed.js";
import { citySchema } from "./weather.js";

const done = "data: [DONE]\n\n";
const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
const end = chunk({}, "stop");
const said = (...texts: string[]) => texts.map((content) => chunk({ content }));
const rome = '{"city":"Rome"}';
/** Of another choice than the one that was asked for. */
const other = {
  ...chunk({}),
  choices: [{ index: 1, delta: { content: "no" }, finish_reason: null }],
};

/** What a server sends, and the city in it. */
const streams: Readonly<Record<string, readonly [events: (string | object)[], city: string]>> = {
  "letter by letter": [[...said(...rome), end, done], "Rome"],
  "a character in halves, whose escapes are cut": [
    [...said('{"city":"', "\ud83d", "\ude00\\u", '00e9"}'), end, done],
    "😀é",
  ],
  "null, and lists that are empty, between pieces": [
    [
      chunk({ role: "assistant", content: null, tool_calls: null, refusal: null }),
      ...said('{"city":'),
      ...[chunk({ content: null, tool_calls: [] }), chunk({}), chunk({ role: "assistant" })],
      ...[...said('"Rome"}'), end, done],
    ],
    "Rome",
  ],
  "text in parts": [
    [chunk({ content: [{ type: "text", text: '{"city":' }] }), ...said('"Rome"}'), end, done],
    "Rome",
  ],
  "the object itself": [[chunk({ content: { city: "Rome" } }), end, done], "Rome"],
  "a whole message in the one event": [
    [
      {
        ...chunk({}),
        choices: [
          { index: 0, message: { role: "assistant", content: rome }, finish_reason: "stop" },
        ],
      },
      done,
    ],
    "Rome",
  ],
  "the reason beside the last piece, and no end marker": [
    [...said('{"city":'), chunk({ content: '"Rome"}' }, "stop")],
    "Rome",
  ],
  "counts in each event, and events without choices": [
    [
      ...said('{"city":', '"Rome"}').flatMap((it) => [
        { ...it, usage },
        { ...it, choices: [], usage },
      ]),
      ...[{ ...end, usage }, done],
    ],
    "Rome",
  ],
  "a choice that nobody asked for": [
    [other, ...said('{"city":'), other, ...said('"Rome"}'), other, end, done],
    "Rome",
  ],
  "thoughts ahead of the text, and beside its beginning": [
    [
      chunk({ reasoning: "Hm" }),
      chunk({ reasoning_content: "so", content: '{"city"' }),
      ...[...said(':"Rome"}'), end, done],
    ],
    "Rome",
  ],
  "thoughts in the middle of the text": [
    [
      ...said('{"city"'),
      ...[chunk({ reasoning: "Hm" }), chunk({ reasoning: ", so" }), ...said(":")],
      ...[chunk({ reasoning_content: "Rome" }), ...said('"Rome"}'), end, done],
    ],
    "Rome",
  ],
  "thoughts in tags": [[...said("<thi", "nk>Hm</thi", "nk>\n\n", rome), end, done], "Rome"],
  "comments, and lines that end in other ways": [
    [
      ": here\r\n\r\n",
      `event: message\r\nid: 1\r\ndata:${JSON.stringify(chunk({ content: rome }))}\r\n\r\n`,
      ...[`data: ${JSON.stringify(end)}\r\r`, done],
    ],
    "Rome",
  ],
};

const schema = z.object({ city: z.string() });
const json = JSON.stringify(citySchema);
const question = { role: "user" as const, content: "Hello" };
const apiKey = "me";

async function byAiSdk(model: LanguageModel): Promise<unknown> {
  const output = Output.object({ schema });
  const result = streamText({ model, prompt: "Hello", maxRetries: 0, output });
  for await (const _ of result.textStream);
  return result.output;
}

/** What each SDK reads. */
const sdks: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  async "openai, chat completions"(url) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
    const response_format = zodResponseFormat(schema, "city");
    const stream = client.chat.completions.stream({
      ...{ model: "m", messages: [question], response_format },
    });
    return (await stream.finalChatCompletion()).choices[0]?.message.parsed;
  },
  async "openai, responses"(url) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
    const format = zodTextFormat(schema, "city");
    const asked = { model: "m", input: "Hello", store: false, text: { format } };
    return (await client.responses.stream(asked).finalResponse()).output_parsed;
  },
  async "@anthropic-ai/sdk"(url) {
    const { messages } = new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
    const asked = {
      ...{ model: "m", max_tokens: 100, messages: [question] },
      thinking: { type: "adaptive" as const },
      output_config: { format: zodOutputFormat(schema) },
    };
    return (await messages.stream(asked).finalMessage()).parsed_output;
  },
  async "@google/genai"(url) {
    const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } });
    const config = { responseMimeType: "application/json", responseJsonSchema: citySchema };
    const stream = await client.models.generateContentStream({
      ...{ model: "m", contents: "Hello", config },
    });
    let text = "";
    for await (const piece of stream) text += piece.text ?? "";
    return JSON.parse(text);
  },
  "@ai-sdk/openai, chat completions": (url) =>
    byAiSdk(createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat("m")),
  "@ai-sdk/openai, responses": (url) =>
    byAiSdk(createOpenAI({ baseURL: `${url}/v1`, apiKey })("m")),
  "@ai-sdk/anthropic": (url) => byAiSdk(createAnthropic({ baseURL: `${url}/v1`, apiKey })("m")),
  "@ai-sdk/google": (url) =>
    byAiSdk(createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })("m")),
  async "POST /llm"(url) {
    const json_schema = { name: "city", schema: citySchema };
    const response_format = { type: "json_schema", json_schema };
    const body = { model: "m", messages: [question], stream: true, response_format };
    const headers = { "content-type": "application/json", authorization: "Bearer me" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await chunks(await fetch(`${url}/llm`, init));
    return JSON.parse(answer.map(({ choices }) => choices[0]?.delta.content ?? "").join(""));
  },
  async gRPC(url) {
    const client = createClient(ChatService, createGrpcTransport({ baseUrl: url }));
    const responseFormat = { type: "json_schema", jsonSchema: { name: "city", schema: json } };
    const asked = { model: "m", messages: [question], responseFormat };
    let text = "";
    for await (const { choices } of client.chat(asked, {
      headers: { authorization: "Bearer me" },
    })) {
      text += choices[0]?.delta?.content ?? "";
    }
    return JSON.parse(text);
  },
};

describe.each(Object.entries(sdks))("%s", (_, read) => {
  test.each(Object.entries(streams))("%s", async (_, [events, city]) => {
    expect(await read(await streamed(events))).toEqual({ city });
  });
});

describe("thoughts in the middle of an answer by a schema are told in full, beside it", () => {
  const pieces = [
    ...[...said('{"city"'), chunk({ reasoning: "Hm" }), chunk({ reasoning: ", so" }), ...said(":")],
    ...[chunk({ reasoning: " Rome" }), ...said('"Rome"}')],
  ];
  const gateway = (reason: string) => streamed([...pieces, chunk({}, reason), done]);

  test.each([
    ["stop", "completed"],
    ["length", "incomplete"],
  ])("openai, responses: %s", async (reason, status) => {
    const client = new OpenAI({ baseURL: `${await gateway(reason)}/v1`, apiKey, maxRetries: 0 });
    const format = zodTextFormat(schema, "city");
    const asked = { model: "m", input: "Hello", store: false, text: { format } };
    const { output } = await client.responses.stream(asked).finalResponse();
    expect(output).toMatchObject([
      { type: "message", status, content: [{ text: rome }] },
      { type: "reasoning", status: "completed", summary: [{ text: "Hm, so Rome" }] },
    ]);
  });

  test("@anthropic-ai/sdk", async () => {
    const { messages } = new Anthropic({ baseURL: await gateway("stop"), apiKey, maxRetries: 0 });
    const asked = {
      ...{ model: "m", max_tokens: 100, messages: [question] },
      thinking: { type: "adaptive" as const },
      output_config: { format: zodOutputFormat(schema) },
    };
    const { content } = await messages.stream(asked).finalMessage();
    expect(content).toMatchObject([
      { type: "text", text: rome },
      { type: "thinking", thinking: "Hm, so Rome" },
    ]);
  });
});
