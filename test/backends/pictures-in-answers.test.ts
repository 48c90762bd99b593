/** Models that chat and answer with images or sounds, for which answers have no place: nothing of it gets into the text, and callers are told. */
import { describe, expect, it } from "vitest";
import { asked } from "./ai-sdk-calls.js";
import { compatibleAt } from "./ai-sdk-subject.js";
import { compatible, gemini, googleAt } from "./ai-sdk-thoughts.js";
import { backendFor, chunk, streamOf } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

const url = `data:image/png;base64,${"iVBORw0KGgo".repeat(20)}`;
const picture = { type: "image_url", image_url: { url } };
const left = (kind: string) => `content: answers are text, left out: ${kind} of the model`;

const openaiAt = (at: string) => backendFor(at, { models: ["m"], dialect: "vllm" });

describe.each(["chat", "complete"] as const)("%s", (method) => {
  it.each([
    ["images beside the text (OpenRouter, LiteLLM, Vercel)", { images: [picture] }, ["images"]],
    ["sounds beside the text (OpenAI)", { audio: { id: "a", data: "UklGRg==" } }, ["sounds"]],
    ["none", { images: [], audio: null }, []],
    ["no more than the name of a sound", { audio: { id: "a" } }, []],
  ])("%s", async (_, more, kinds) => {
    const server = await serve(compatible({ content: "Here it is.", ...more }));
    for (const backend of [openaiAt(server.url), compatibleAt(server.url)]) {
      const { code, text, warnings, messages } = await asked(opened(backend), method, {});
      expect([code, text, warnings]).toEqual(["ok", "Here it is.", kinds.map(left)]);
      expect(messages.at(-1)?.warnings).toEqual(kinds.map(left));
    }
  });

  it("images among the parts of the text (vLLM-Omni)", async () => {
    const content = [{ type: "text", text: "Here " }, picture, { type: "text", text: "it is." }];
    const server = await serve(compatible({ content }));
    const { text, warnings } = await asked(opened(openaiAt(server.url)), method, {});
    expect([text, warnings]).toEqual(["Here it is.", [left("images")]]);
  });

  it("nothing but an image", async () => {
    const server = await serve(compatible({ content: null, images: [picture, picture] }));
    const { code, text, warnings } = await asked(opened(openaiAt(server.url)), method, {});
    expect([code, text, warnings]).toEqual(["ok", "", [left("images")]]);
  });

  it.each([
    ["image/png", "images"],
    ["audio/wav", "sounds"],
    ["application/pdf", "files"],
  ])("%s of Gemini", async (mimeType, kind) => {
    const inlineData = { mimeType, data: "iVBORw0KGgo=" };
    const server = await serve(gemini({ text: "Here " }, { inlineData }, { text: "it is." }));
    const { text, warnings } = await asked(opened(googleAt(server.url)), method, {
      model: "gemini-3-pro",
    });
    expect([text, warnings]).toEqual(["Here it is.", [left(kind)]]);
  });
});

it("a sound in the place of text, in a stream (vLLM-Omni), is no text", async () => {
  const of = (modality: string, ...chunks: object[]) => chunks.map((it) => ({ ...it, modality }));
  const words = ["It ", "is ", "here"].map((content) => chunk({ content }));
  const script: Script = async (exchange) => {
    await exchange.stream(
      ...of("text", ...words, chunk({ content: "." }, "stop")),
      ...of("audio", chunk({ content: "UklGRiQA" }), chunk({ content: "UklGRiQB" }, "stop")),
      "data: [DONE]\n\n",
    );
    await exchange.end();
  };
  const server = await serve(script);
  const { text, warnings } = await asked(opened(openaiAt(server.url)), "chat", {});
  expect([text, warnings]).toEqual(["It is here.", [left("sounds")]]);
});

it("a sound in a further choice of a whole answer (vLLM-Omni)", async () => {
  const choices = [
    { index: 0, message: { role: "assistant", content: "It is here." }, finish_reason: "stop" },
    { index: 0, message: { content: null, audio: { data: "UklGRg==" } }, finish_reason: "stop" },
  ];
  const server = await serve((exchange) => exchange.sendJson(200, { id: "c", choices }));
  const { text, warnings } = await asked(opened(openaiAt(server.url)), "complete", {});
  expect([text, warnings]).toEqual(["It is here.", [left("sounds")]]);
});

it("a picture in each of many chunks is told once", async () => {
  const server = await serve(
    streamOf([{ content: "a" }, { images: [picture] }, { images: [picture] }]),
  );
  const { text, warnings } = await asked(opened(openaiAt(server.url)), "chat", {});
  expect([text, warnings]).toEqual(["a", [left("images")]]);
});
