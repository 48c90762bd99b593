/** Tools, and what messages have beside text, through two Lintels: what the one behind is asked, and what it answers, is as if it were alone. */
import { expect, it, onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { eventsOf, hello } from "../doors/serve.js";
import { never } from "../support/calls.js";
import { startLintel } from "../support/lintel.js";
import { filePart, imagePart, soundPart, textPart } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { callsTools, scripted } from "../support/scripted.js";
import { connectTo } from "./node-peer.js";
import { backendFor } from "./openai-subject.js";
import { restAt } from "./rest-subject.js";

const ways: Readonly<Record<string, (url: string) => Backend>> = {
  rest: restAt,
  node: (url) => connectTo(url, { token: "me" }),
  openai: (url) => backendFor(url, { api_key: "me" }),
};

const zip = "data:application/zip;base64,UEsDBAoAAAA=";
const extra = { google: { thought_signature: "abc" } };
const call = {
  ...{ id: "a", type: "function", extra_content: extra },
  function: { name: "weather", arguments: '{"city":"Rome"}' },
};
const parameters = { type: "object", properties: { city: { type: "string" } } };
const asked = hello({
  model: "m",
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "Rome?" },
        { type: "image_url", image_url: { url: "https://example.com/rome.png", detail: "low" } },
        { type: "file", file: { file_data: zip, filename: "a.zip" } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      ],
    },
    { role: "assistant", content: "Let me look.", tool_calls: [call] },
    { role: "tool", content: "sunny", tool_call_id: "a" },
  ],
  tools: [{ type: "function", function: { name: "weather", parameters, strict: false } }],
  tool_choice: { type: "function", function: { name: "weather" } },
  parallel_tool_calls: true,
  response_format: { type: "json_schema", json_schema: { name: "p", schema: parameters } },
});

it.each(Object.entries(ways))("by a backend of the kind %s", async (_, at) => {
  const behind = scripted(
    {
      chat: callsTools(
        [toolCall(0, "a", "weather", '{"city":', JSON.stringify(extra))],
        [toolCall(0, "", "", '"Rome"}')],
      ),
    },
    [chatModel("m")],
  );
  const started = async (backend: Backend) => {
    const lintel = await startLintel([backend]);
    onTestFinished(() => backend.close());
    onTestFinished(() => lintel.close());
    return lintel;
  };
  const link = at((await started(behind)).url);
  const front = await started(link);
  await link.ready?.("m", never);
  const post = (path: string, body: object) =>
    fetch(front.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer me" },
      body: JSON.stringify(body),
    });
  for (const path of ["/llm", "/v1/chat/completions"]) {
    const whole = await post(path, asked);
    expect(whole.headers.get("x-lintel-warnings")).toBeNull();
    expect(await whole.json()).toMatchObject({
      choices: [{ message: { tool_calls: [call] }, finish_reason: "tool_calls" }],
    });
    const events = eventsOf(await (await post(path, { ...asked, stream: true })).text());
    const pieces = events
      .slice(0, -1)
      .flatMap((event) => JSON.parse(event).choices[0].delta.tool_calls ?? []);
    expect(pieces).toEqual([
      { ...call, index: 0, function: { name: "weather", arguments: '{"city":' } },
      { index: 0, function: { arguments: '"Rome"}' } },
    ]);
  }
  for (const request of behind.asked) {
    expect(request).toMatchObject({
      messages: [
        {
          parts: [
            textPart("Rome?"),
            imagePart("https://example.com/rome.png", "low"),
            filePart(zip, "a.zip"),
            soundPart("AAAA", "wav"),
          ],
        },
        {
          content: "Let me look.",
          toolCalls: [{ id: "a", extraContent: JSON.stringify(extra), function: call.function }],
        },
        { role: "tool", toolCallId: "a", content: "sunny" },
      ],
      tools: [{ function: { parameters: JSON.stringify(parameters), strict: false } }],
      toolChoice: { type: "function", function: { name: "weather" } },
      parallelToolCalls: true,
      responseFormat: { jsonSchema: { name: "p", schema: JSON.stringify(parameters) } },
    });
  }
  expect(behind.asked).toHaveLength(4);
});
