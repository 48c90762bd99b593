/** Images, files and sounds in messages, as vendors get them. */
import { expect, it } from "vitest";
import type { ContentPart } from "../../gen/lintel/v1/chat_pb.js";
import { optionsOf } from "../../src/backends/ai-sdk/request.js";
import { never } from "../support/calls.js";
import { filePart, imagePart, say, soundPart, textPart } from "../support/messages.js";
import { asked, bodies, played } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import { chatRequest, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";

const inline = "data:image/png;base64,iVBORw0KGgo=";
const address = "https://example.com/a.png";

async function sent(at: typeof anthropicAt, name: string, ...shown: ContentPart[]) {
  const server = await serve(name === "" ? echo : played(name));
  const messages = [say("user", "", { parts: [textPart("This?"), ...shown] })];
  const { code, warnings, error } = await asked(opened(at(server.url)), "chat", { messages });
  return { code, warnings, param: error?.param, body: bodies(server)[0] };
}

it("Anthropic gets them inline, or where it can fetch them", async () => {
  const { code, warnings, body } = await sent(
    anthropicAt,
    "anthropic/tool-events",
    imagePart(inline),
    imagePart(address, "low"),
  );
  expect(code).toBe("ok");
  expect(warnings).toEqual(["image_url.detail: not supported by this model, ignored"]);
  expect(body.messages[0].content).toMatchObject([
    { type: "text", text: "This?" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
    { type: "image", source: { type: "url", url: address } },
  ]);
});

it("Anthropic gets them without the parameters of their types", async () => {
  const named = inline.replace(";", ";name=a.png;charset=utf-8;");
  const { code, body } = await sent(anthropicAt, "anthropic/tool-events", imagePart(named));
  expect(code).toBe("ok");
  expect(body.messages[0].content[1]).toMatchObject({
    source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
  });
});

it("OpenAI is told how closely to look", async () => {
  const { code, warnings, body } = await sent(
    openaiAt,
    "openai/responses-function-call",
    imagePart(inline, "low"),
  );
  expect([code, warnings]).toEqual(["ok", []]);
  expect(JSON.stringify(body)).toContain('"detail":"low"');
});

it("a server of OpenAI's form gets them inline; where its provider knows of no addresses, none is fetched", async () => {
  const { code, body } = await sent(compatibleAt, "", imagePart(inline));
  expect(code).toBe("ok");
  expect(body.messages[0].content).toEqual([
    { type: "text", text: "This?" },
    { type: "image_url", image_url: { url: inline } },
  ]);
  const refused = await sent(compatibleAt, "", imagePart(address));
  expect(refused).toMatchObject({ code: "unsupported_parameter", param: "messages" });
  expect(refused.body).toBeUndefined();
});

it("of another role than the user's they are refused", async () => {
  const server = await serve(echo);
  const messages = [say("assistant", "", { parts: [imagePart(inline)] }), say("user", "a")];
  const { code } = await asked(opened(compatibleAt(server.url)), "chat", { messages });
  expect(code).toBe("unsupported_parameter");
});

it("what a tool shows is the user's, behind the results", async () => {
  const server = await serve(echo);
  const called = (id: string) => ({ id, function: { name: "look", arguments: "{}" } });
  const shown = (id: string, ...parts: ContentPart[]) => say("tool", "", { toolCallId: id, parts });
  const messages = [
    say("user", "Look."),
    say("assistant", "", { toolCalls: [called("a"), called("b")] as never }),
    shown("a", textPart("One:"), imagePart(inline)),
    say("tool", "nothing", { toolCallId: "b" }),
    say("user", "And?"),
    say("assistant", "", { toolCalls: [called("c")] as never }),
    shown("c", imagePart(inline), textPart("again")),
  ];
  const { code } = await asked(opened(compatibleAt(server.url)), "complete", { messages });
  expect(code).toBe("ok");
  const image = { type: "image_url", image_url: { url: inline } };
  expect(bodies(server)[0].messages).toMatchObject([
    { role: "user", content: "Look." },
    { role: "assistant" },
    { role: "tool", tool_call_id: "a", content: "One:" },
    { role: "tool", tool_call_id: "b", content: "nothing" },
    { role: "user", content: [image, { type: "text", text: "And?" }] },
    { role: "assistant" },
    { role: "tool", tool_call_id: "c", content: "again" },
    { role: "user", content: [image] },
  ]);
});

const pdf = "data:application/pdf;base64,JVBERi0=";

it("Anthropic gets PDFs with their names, or their addresses", async () => {
  const there = "https://example.com/b.pdf";
  const { code, body } = await sent(
    anthropicAt,
    "anthropic/tool-events",
    filePart(pdf, "a.pdf"),
    filePart(there),
  );
  expect(code).toBe("ok");
  expect(body.messages[0].content).toMatchObject([
    { type: "text", text: "This?" },
    {
      ...{ type: "document", title: "a.pdf" },
      source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
    },
    { type: "document", source: { type: "url", url: there } },
  ]);
});

it("a server of OpenAI's form gets PDFs and sounds inline", async () => {
  const shown = [filePart(pdf, "a.pdf"), soundPart("AAAA", "mp3"), soundPart("AAAA", "wav")];
  const supports = ["file", "input_audio"];
  const at = (url: string) => compatibleAt(url, { models: [{ id: "m", supports }] });
  const { code, body } = await sent(at, "", ...shown);
  expect(code).toBe("ok");
  expect(body.messages[0].content).toEqual([
    { type: "text", text: "This?" },
    { type: "file", file: { filename: "a.pdf", file_data: pdf } },
    { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
    { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
  ]);
});

it.each([
  ["an address", "messages", filePart("https://example.com/b.pdf")],
  ["a kind of file", "file", filePart("data:application/zip;base64,UEsDBAoAAAA=")],
  ["a format of sounds", "input_audio", soundPart("AAAA", "flac")],
])("%s that a provider does not know is refused, and nothing is asked", async (_, param, part) => {
  const supports = ["file", "input_audio"];
  const at = (url: string) => compatibleAt(url, { models: [{ id: "m", supports }] });
  const { code, param: named, body } = await sent(at, "", part);
  expect([code, named, body]).toEqual(["unsupported_parameter", param, undefined]);
});

it("a provider of AI SDK 7 is told of data whether they are an address", async () => {
  const model = { specificationVersion: "v4", modelId: "m", supportedUrls: { "*": [/^https:/] } };
  const known = { model: model as never, package: "some-provider", providerOptions: {} };
  const parts = [
    imagePart(inline),
    imagePart(address),
    filePart(pdf, "a.pdf"),
    soundPart("AA", "wav"),
  ];
  const call = callOf("chat", chatRequest({ messages: [say("user", "", { parts })] }));
  const { prompt } = await optionsOf(call, known, new Set(), never);
  expect(prompt[0]?.content).toEqual([
    { type: "file", mediaType: "image/png", data: { type: "data", data: "iVBORw0KGgo=" } },
    { type: "file", mediaType: "image/png", data: { type: "url", url: new URL(address) } },
    {
      ...{ type: "file", mediaType: "application/pdf", filename: "a.pdf" },
      data: { type: "data", data: "JVBERi0=" },
    },
    { type: "file", mediaType: "audio/wav", data: { type: "data", data: "AA" } },
  ]);
});

it("packages whose vendors take PDFs say so, and no others: those are told their text", () => {
  const supports = (at: typeof anthropicAt) =>
    opened(at("http://127.0.0.1:1")).models()[0]?.supports;
  expect(supports(anthropicAt)).toContain("file");
  expect(supports(openaiAt)).toContain("file");
  expect(supports(compatibleAt)).not.toContain("file");
});
