/** PDFs and sounds as clients send them that know of them, unmodified. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, type LanguageModel } from "ai";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { serve } from "../doors/serve.js";
import { filePart, soundPart, textPart } from "../support/messages.js";
import { says, scripted } from "../support/scripted.js";

const data = Buffer.from("%PDF-1.7 and so on").toString("base64");
const pdf = `data:application/pdf;base64,${data}`;
const wav = Buffer.from("RIFF and so on").toString("base64");

const read = { type: "text" as const, text: "Read:" };

/** What each sends, to an address; and whether it sends a sound, too. */
const clients: readonly (readonly [string, boolean, (url: string) => Promise<unknown>])[] = [
  [
    "openai: chat.completions",
    true,
    (url) =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: "me" }).chat.completions.create({
        model: "chat-1",
        messages: [
          {
            role: "user",
            content: [
              read,
              { type: "file", file: { file_data: pdf, filename: "a.pdf" } },
              { type: "input_audio", input_audio: { data: wav, format: "wav" } },
            ],
          },
        ],
      }),
  ],
  [
    "openai: responses",
    false,
    (url) =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: "me" }).responses.create({
        ...{ model: "chat-1", store: false },
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: "Read:" },
              { type: "input_file", file_data: pdf, filename: "a.pdf" },
            ],
          },
        ],
      }),
  ],
  [
    "@anthropic-ai/sdk",
    false,
    (url) =>
      new Anthropic({ baseURL: url, apiKey: "me" }).messages.create({
        ...{ model: "chat-1", max_tokens: 10 },
        messages: [
          {
            role: "user",
            content: [
              read,
              {
                ...{ type: "document", title: "a.pdf" },
                source: { type: "base64", media_type: "application/pdf", data },
              },
            ],
          },
        ],
      }),
  ],
  [
    "AI SDK: @ai-sdk/openai-compatible",
    true,
    (url) => asks(createOpenAICompatible({ name: "l", baseURL: `${url}/v1`, apiKey: "me" })),
  ],
  [
    "AI SDK: @ai-sdk/openai, chat",
    true,
    (url) => asks(createOpenAI({ baseURL: `${url}/v1`, apiKey: "me" }).chat),
  ],
  [
    "AI SDK: @ai-sdk/openai, responses",
    false,
    (url) => asks(createOpenAI({ baseURL: `${url}/v1`, apiKey: "me" }).responses, false),
  ],
  [
    "AI SDK: @ai-sdk/anthropic",
    false,
    (url) => asks(createAnthropic({ baseURL: `${url}/v1`, apiKey: "me" }), false),
  ],
];

/** Has the AI SDK send both, or the PDF alone where the provider knows no sounds. */
function asks(provider: (model: string) => LanguageModel, sounds = true): Promise<unknown> {
  const file = { type: "file" as const, mediaType: "application/pdf", data, filename: "a.pdf" };
  const sound = { type: "file" as const, mediaType: "audio/wav", data: wav };
  const content = [read, file, ...(sounds ? [sound] : [])];
  const providerOptions = { openai: { store: false } };
  return generateText({
    model: provider("chat-1"),
    messages: [{ role: "user", content }],
    maxRetries: 0,
    providerOptions,
  });
}

test.each(clients)("%s", async (_, sounds, send) => {
  const backend = scripted({ chat: says("Hi") });
  const { url } = await serve(backend);
  await send(url);
  expect(backend.asked[0]).toMatchObject({
    messages: [
      {
        ...{ role: "user", content: "" },
        parts: [
          textPart("Read:"),
          filePart(pdf, "a.pdf"),
          ...(sounds ? [soundPart(wav, "wav")] : []),
        ],
      },
    ],
  });
});
