/** Files and sounds in messages to OpenAI-compatible servers: what they get, and what they refuse. */
import { describe, expect, it } from "vitest";
import type { ContentPart } from "../../gen/lintel/v1/chat_pb.js";
import { filePart, say, soundPart, textPart } from "../support/messages.js";
import { against, chat, complete } from "./openai-calls.js";
import { echo } from "./openai-subject.js";

const pdf = "data:application/pdf;base64,JVBERi0=";
const zip = "data:application/zip;base64,UEsDBAoAAAA=";
const of = (...parts: ContentPart[]) => ({ messages: [say("user", "", { parts })] });

it("the body has them as OpenAI's clients write them, files with a name", async () => {
  const server = await against(echo);
  const shown = [filePart(pdf, "a.pdf"), filePart(pdf), filePart(zip), soundPart("AAAA", "wav")];
  await complete(server, of(textPart("This?"), ...shown));
  expect(server.bodies()[0].messages).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "This?" },
        { type: "file", file: { filename: "a.pdf", file_data: pdf } },
        { type: "file", file: { filename: "file.pdf", file_data: pdf } },
        { type: "file", file: { filename: "file", file_data: zip } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      ],
    },
  ]);
});

/** What servers say of a type of part that they don't know, or that the model has no use for. */
const words: readonly (readonly [string, number, (type: string) => string])[] = [
  [
    "OpenAI",
    400,
    (type) => `Invalid value: '${type}'. Supported values are: 'text' and 'image_url'.`,
  ],
  [
    "older OpenAI",
    400,
    () => "Invalid 'messages[1]'. Content blocks are expected to be either text or image_url type.",
  ],
  [
    "LM Studio",
    400,
    () =>
      "Invalid 'content': 'content' objects must have a 'type' field that is either 'text' or 'image_url'.",
  ],
  ["vLLM", 400, (type) => `Unknown part type: ${type}`],
  ["older vLLM", 501, (type) => `Unknown part type: ${type}`],
  [
    "newer vLLM",
    400,
    (type) => `Unsupported chat content part type: '${type}'. Supported types: ['text']`,
  ],
  [
    "Alibaba",
    400,
    (type) => `Invalid value: ${type}. Supported values are: 'text','image_url','video_url'.`,
  ],
  ["Google", 400, (type) => `Invalid content part type: ${type}`],
  ["DeepSeek", 422, (type) => `messages[0]: unknown variant \`${type}\`, expected \`text\``],
  [
    "Mistral",
    422,
    (type) =>
      `Input tag '${type}' found using 'type' does not match any of the expected tags: 'text'`,
  ],
  ["llama.cpp", 500, () => "unsupported content[].type"],
  ["Ollama", 400, () => "invalid message format"],
];
const files: typeof words = [
  ["OpenRouter", 404, () => "No endpoints found that support file input"],
  ["a model", 400, () => "This model does not support file content."],
  ["Anthropic", 400, () => "'document' inputs are not supported by this model"],
  ["Gemini", 400, () => "Unsupported MIME type: application/pdf"],
];
const sounds: typeof words = [
  ["OpenRouter", 404, () => "No endpoints found that support input audio"],
  ["a model", 400, () => "This model does not support audio input"],
  ["vLLM of a model", 400, () => "At most 0 audio(s) may be provided in one prompt."],
  [
    "llama.cpp of a model",
    500,
    () =>
      "audio input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
  ],
];

describe.each([
  ["file", filePart(pdf), [...words, ...files]],
  ["input_audio", soundPart("AAAA", "wav"), [...words, ...sounds]],
] as const)("refusals of the type %s", (type, part, all) => {
  it.each(all)("in the words of %s name it, and another target may take it", async (...row) => {
    const [, status, said] = row;
    const error = { message: said(type) };
    const server = await against((exchange) => exchange.sendJson(status, { error }));
    await expect(chat(server, of(part))).rejects.toMatchObject({
      code: "unsupported_parameter",
      param: type,
      retry: "elsewhere",
    });
    await expect(chat(server)).rejects.not.toMatchObject({ code: "unsupported_parameter" });
    expect(server.bodies()).toHaveLength(2);
  });
});

it("a PDF that is refused is remembered, another kind of file is not", async () => {
  const message = "Invalid file data: got unsupported MIME type 'application/zip'.";
  const server = await against((exchange) => exchange.sendJson(400, { error: { message } }));
  const supports = () => server.backend.models()[0]?.supports;
  await expect(chat(server, of(filePart(zip)))).rejects.toMatchObject({ param: "file" });
  expect(supports()).toContain("file");
  await expect(chat(server, of(filePart(pdf)))).rejects.toMatchObject({ param: "file" });
  expect(supports()).not.toContain("file");
});
