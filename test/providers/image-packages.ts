/** All image packages that the backend knows, and some that it does not, each before a server as its vendor's. */
import type { Backend } from "../../src/core/backend.js";
import { aiSdkBackend } from "../backends/ai-sdk-subject.js";
import type { Exchange, Script } from "../backends/upstream.js";
import type { ImageName } from "./image-asked.js";
import { since7 } from "./installed.js";
import type { Form } from "./wire.js";

/** An image package. */
export interface ImagePackage {
  readonly name: string;
  readonly model: string;
  /** Path of its base address. */
  readonly base: string;
  /** Options of its create function, besides the address. Default: a key. */
  readonly options?: object;
  /** Its own options of each request. */
  readonly providerOptions?: object;
  /** What it says besides of a size that it sends. */
  readonly says?: RegExp;
  /** Answers with the image; with as many as are asked for, where it can. */
  answers(png: Buffer): Script;
  /** What is sent for what is asked. */
  readonly sent: Readonly<Partial<Record<ImageName, Form>>>;
  /** What becomes of the rest. */
  readonly instead: Readonly<Partial<Record<ImageName, "warned" | "refused">>>;
}

const base64 = (png: Buffer) => png.toString("base64");
const many = <T>(count: unknown, one: T): T[] => Array<T>(Number(count ?? 1)).fill(one);

/** What is not at the vendor's own address but at one of the same server. */
const file = ({ request }: Exchange, path: string) => `http://${request.headers.host}${path}`;
const sendFile = (exchange: Exchange, png: Buffer) =>
  exchange.send(200, { "content-type": "image/png" }, png);

/** OpenAI's answer. */
const inData =
  (png: Buffer): Script =>
  (exchange) =>
    exchange.sendJson(200, {
      created: 1,
      data: many(exchange.json().n, { b64_json: base64(png) }),
    });

/** Gemini's answer, or Imagen's. */
const ofGoogle =
  (png: Buffer): Script =>
  (exchange) => {
    const { instances, parameters } = exchange.json();
    const inlineData = { mimeType: "image/png", data: base64(png) };
    const content = { role: "model", parts: [{ inlineData }] };
    return exchange.sendJson(
      200,
      instances
        ? {
            predictions: many(parameters.sampleCount, {
              ...{ mimeType: "image/png", bytesBase64Encoded: base64(png) },
            }),
          }
        : { candidates: [{ index: 0, content, finishReason: "STOP" }], modelVersion: "g" },
    );
  };

const untuned = { guidance: "warned", steps: "warned", negative: "warned" } as const;
const unseeded = { seed: "refused", zero: "refused", "several of a seed": "refused" } as const;
const unsized = { size: "refused", ...unseeded } as const;

const googleAuthOptions = { authClient: { getAccessToken: async () => ({ token: "secret" }) } };

/** Each image is asked for by itself, with a seed of its own. */
const one: Form = { prompt: "a red circle" };

/** Before AI SDK 7 Google's packages draw by Imagen, too. */
const googleModel = since7("imagen-4.0-generate-001", "gemini-3-pro-image");
const ofImagen = { several: { parameters: { sampleCount: 2 } } };
const ofGemini = { several: { contents: [] } };

const openai: Omit<ImagePackage, "name" | "base"> = {
  model: "gpt-image-1",
  answers: inData,
  sent: { size: { size: "512x384" }, several: { n: 2 } },
  instead: { ...untuned, ...unseeded },
};

/** All packages. */
export const imagePackages: readonly ImagePackage[] = [
  { name: "@ai-sdk/openai", base: "/v1", ...openai },
  { name: "@ai-sdk/azure", base: "/openai/v1", ...openai },
  {
    name: "@ai-sdk/fal",
    base: "",
    model: "fal-ai/flux/dev",
    answers: (png) => (exchange) => {
      if (exchange.request.method === "GET") return sendFile(exchange, png);
      const image = { url: file(exchange, "/files/a.png"), content_type: "image/png" };
      return exchange.sendJson(200, { images: many(exchange.json().num_images, image), seed: 1 });
    },
    sent: {
      size: { image_size: { width: 512, height: 384 } },
      ...{ seed: { seed: 77 }, zero: { seed: 0 }, several: one, "several of a seed": { seed: 78 } },
      ...{ guidance: { guidance_scale: 3.5 }, steps: { num_inference_steps: 9 } },
    },
    instead: { negative: "warned" },
  },
  {
    name: "@ai-sdk/replicate",
    base: "/v1",
    options: { apiToken: "secret" },
    providerOptions: since7({}, { replicate: { pollIntervalMillis: 1 } }),
    model: "stability-ai/sdxl",
    answers: (png) => (exchange) => {
      const { method, path } = exchange.request;
      if (path.endsWith(".png")) return sendFile(exchange, png);
      const prediction = { id: "p", urls: { get: file(exchange, "/v1/predictions/p") } };
      const output = many(1, file(exchange, "/files/a.png"));
      // Since AI SDK 7 it may not be there yet.
      const there = method === "GET" || since7(true, false);
      const state = there ? { status: "succeeded", output } : { status: "processing" };
      return exchange.sendJson(200, { ...prediction, ...state });
    },
    sent: {
      size: { input: { size: "512x384" } },
      ...{ seed: { input: { seed: 77 } }, zero: { input: { seed: 0 } } },
      several: { input: {} },
      "several of a seed": { input: { seed: 78 } },
      guidance: { input: { guidance_scale: 3.5 } },
      steps: { input: { num_inference_steps: 9 } },
      negative: { input: { negative_prompt: "a dog" } },
    },
    instead: {},
  },
  {
    name: "@ai-sdk/black-forest-labs",
    base: "/v1",
    model: "flux-pro-1.1",
    options: { apiKey: "secret", pollIntervalMillis: 1 },
    says: /^width, height: Deriving aspect_ratio from size/,
    answers: (png) => (exchange) => {
      const { method, path } = exchange.request;
      if (path.endsWith(".png")) return sendFile(exchange, png);
      if (method === "POST") {
        return exchange.sendJson(200, { id: "p", polling_url: file(exchange, "/v1/get_result") });
      }
      const result = { sample: file(exchange, "/files/a.png") };
      return exchange.sendJson(200, { status: "Ready", result });
    },
    sent: {
      ...{ size: { width: 512, height: 384 }, seed: { seed: 77 }, zero: { seed: 0 } },
      ...{
        several: one,
        "several of a seed": { seed: 78 },
        guidance: { guidance: 3.5 },
        steps: { steps: 9 },
      },
    },
    instead: { negative: "warned" },
  },
  {
    name: "@ai-sdk/amazon-bedrock",
    base: "",
    model: "amazon.nova-canvas-v1:0",
    answers: (png) => (exchange) =>
      exchange.sendJson(200, {
        images: many(exchange.json().imageGenerationConfig.numberOfImages, base64(png)),
      }),
    sent: {
      size: { imageGenerationConfig: { width: 512, height: 384 } },
      seed: { imageGenerationConfig: { seed: 77 } },
      // Its provider leaves 0 out; there are as many seeds, and one more.
      zero: { imageGenerationConfig: { seed: 858_993_460 } },
      several: { imageGenerationConfig: {} },
      "several of a seed": { imageGenerationConfig: { seed: 78 } },
      guidance: { imageGenerationConfig: { cfgScale: 3.5 } },
      negative: { textToImageParams: { negativeText: "a dog" } },
    },
    instead: { steps: "warned" },
  },
  {
    name: "@ai-sdk/google",
    base: "/v1beta",
    model: googleModel,
    answers: ofGoogle,
    sent: since7<ImagePackage["sent"]>(ofImagen, ofGemini),
    instead: { ...untuned, ...unsized },
  },
  {
    name: "@ai-sdk/google-vertex",
    base: "/publishers/google",
    model: googleModel,
    options: { project: "p", location: "global", googleAuthOptions },
    answers: ofGoogle,
    sent: since7<ImagePackage["sent"]>(
      { ...ofImagen, negative: { parameters: { negativePrompt: "a dog" } } },
      ofGemini,
    ),
    instead: { ...untuned, ...since7({ negative: undefined }, {}), ...unsized },
  },
  {
    name: "@ai-sdk/xai",
    base: "/v1",
    model: "grok-2-image",
    answers: inData,
    sent: { several: { n: 2 } },
    instead: { ...untuned, ...unsized },
  },
  {
    name: "@ai-sdk/luma",
    base: "",
    model: "photon-1",
    providerOptions: { luma: { pollIntervalMillis: 1 } },
    answers: (png) => (exchange) => {
      const { method, path } = exchange.request;
      if (path.endsWith(".png")) return sendFile(exchange, png);
      if (method === "POST") return exchange.sendJson(200, { id: "p", state: "queued" });
      const assets = { image: file(exchange, "/files/a.png") };
      return exchange.sendJson(200, { id: "p", state: "completed", assets });
    },
    sent: { several: { prompt: "a red circle" } },
    instead: { ...untuned, ...unsized },
  },
  {
    name: "@ai-sdk/togetherai",
    base: "/v1",
    model: "black-forest-labs/FLUX.1-dev",
    answers: inData,
    sent: {
      ...{ size: { width: 512, height: 384 }, seed: { seed: 77 }, zero: { seed: 0 } },
      ...{
        several: one,
        "several of a seed": { seed: 78 },
        guidance: { guidance: 3.5 },
        steps: { steps: 9 },
      },
      negative: { negative_prompt: "a dog" },
    },
    instead: {},
  },
  {
    name: "@ai-sdk/fireworks",
    base: "/v1",
    model: "accounts/fireworks/models/playground-v2-5-1024px-aesthetic",
    answers: (png) => (exchange) => sendFile(exchange, png),
    sent: {
      ...{ size: { width: "512", height: "384" }, seed: { seed: 77 }, zero: { seed: 0 } },
      several: one,
      "several of a seed": { seed: 78 },
    },
    instead: untuned,
  },
  {
    name: "@ai-sdk/deepinfra",
    base: "/v1",
    model: "black-forest-labs/FLUX-1-dev",
    answers: (png) => (exchange) =>
      exchange.sendJson(200, {
        images: many(exchange.json().num_images, `data:image/png;base64,${base64(png)}`),
      }),
    sent: {
      ...{ size: { width: "512", height: "384" }, seed: { seed: 77 }, zero: { seed: 0 } },
      several: one,
      "several of a seed": { seed: 78 },
    },
    instead: untuned,
  },
];

/** A backend before a server. */
export const imageBackendOf = (known: ImagePackage, url: string): Backend =>
  aiSdkBackend({
    package: known.name,
    options: { baseURL: `${url}${known.base}`, ...(known.options ?? { apiKey: "secret" }) },
    models: [{ id: known.model, task: "image", provider_options: known.providerOptions }],
  });
