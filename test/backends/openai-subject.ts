/** An `openai` backend before a scripted server that echoes. */
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import { createOpenaiBackend } from "../../src/backends/openai/index.js";
import { type OpenaiConfig, openaiSchema } from "../../src/backends/openai/schema.js";
import type { Backend } from "../../src/core/backend.js";
import { chatDefaults } from "../../src/core/defaults.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { silent } from "../../src/core/log.js";
import type { BackendMethod, Input } from "../../src/core/methods.js";
import { say } from "../support/messages.js";
import { fixture } from "./fixture.js";
import { drawing, drawn, gptImage, sidesOf } from "./openai-images-subject.js";
import { imageRequest } from "./picture.js";
import type { Held, Subject } from "./subject.js";
import { type Exchange, type Script, Upstream } from "./upstream.js";

/** A backend for a server; fields as in the configuration. */
export function backendFor(url: string, config: object = {}): Backend {
  const entry: OpenaiConfig = openaiSchema.parse({
    type: "openai",
    name: "test",
    url,
    models: ["m"],
    ...config,
  });
  return createOpenaiBackend(entry, { log: silent });
}

/** A request with every default filled in. */
export function chatRequest(more: Partial<LLMRequest> = {}): LLMRequest {
  return {
    $typeName: "lintel.v1.LLMRequest",
    messages: [say("user", "hello")],
    model: "m",
    ...chatDefaults,
    stop: [],
    tools: [],
    reasoningEffort: "",
    user: "",
    promptCacheKey: "",
    modalities: [],
    verbosity: "",
    serviceTier: "",
    logitBias: {},
    ...more,
  };
}

/**
 * Small requests of a subject: what is said, or drawn, is the text, `hello` by default.
 * @param image the model of images, and how they are asked for
 */
export const requestsOf =
  (image: Partial<TextToImageRequest>): Subject["request"] =>
  <M extends BackendMethod>(method: M, text = "hello"): Input<M> => {
    if (method === "textToImage" || method === "streamTextToImage") {
      return imageRequest({ prompt: text, ...image }) as Input<M>;
    }
    const messages = [say("user", text)];
    return chatRequest({ messages }) as Input<M>;
  };

/** A chunk of a streamed completion. */
export function chunk(delta: object, finish_reason: string | null = null): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1762164000,
    model: "m",
    choices: [{ index: 0, delta, finish_reason }],
  };
}

/** Streams pieces of one answer. */
export const streamOf =
  (deltas: readonly object[], reason = "stop"): Script =>
  async (exchange) => {
    const chunks = deltas.map((delta) => chunk(delta));
    await exchange.stream(...chunks, chunk({}, reason), "data: [DONE]\n\n");
    await exchange.end();
  };

/** Answers with a whole message. */
export const wholeOf =
  (message: object, usage?: object): Script =>
  (exchange) => {
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return exchange.sendJson(200, { id: "1", created: 1, model: "m", choices, usage });
  };

/** Answers with the last message, word by word or whole. */
export const echo: Script = async (exchange) => {
  if (exchange.request.method === "GET") return exchange.play(fixture("vllm/models"));
  const { messages, stream, max_tokens } = exchange.json();
  const words = `you said ${messages.at(-1).content}`.split(" ").slice(0, max_tokens);
  const usage = {
    prompt_tokens: 3,
    completion_tokens: words.length,
    total_tokens: 3 + words.length,
  };
  if (!stream) {
    const message = { role: "assistant", content: words.join(" ") };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return exchange.sendJson(200, { id: "chatcmpl-1", created: 1, model: "m", choices, usage });
  }
  const chunks = words.map((word) => chunk({ content: `${word} ` }));
  const end = [chunk({}, "stop"), { choices: [], usage }, "data: [DONE]\n\n"];
  await exchange.stream(chunk({ role: "assistant", content: "" }), ...chunks, ...end);
  await exchange.end();
};

/** Counts a token for each letter, as llama.cpp tells it. */
const counted: Script = (exchange) => {
  const input_tokens = exchange.json().messages[0].content.length;
  return exchange.sendJson(200, { object: "response.input_tokens", input_tokens });
};

/** Failures that the contract suite provokes: how they come out, and what the server does. */
export const failures: Readonly<Record<string, readonly [ErrorCode, Script]>> = {
  "a server that is full": [
    "rate_limited",
    (exchange) => exchange.play(fixture("openai/rate-limited")),
  ],
  "a server that loads its model": [
    "unavailable",
    (exchange) => exchange.play(fixture("llamacpp/loading")),
  ],
  "a wrong request": ["invalid_value", (exchange) => exchange.play(fixture("vllm/too-long"))],
  "a refused key": ["upstream_failed", (exchange) => exchange.play(fixture("openai/bad-key"))],
  "an error without a body": ["upstream_failed", (exchange) => exchange.send(500, {}, "")],
  "a page of HTML": [
    "upstream_failed",
    (exchange) => exchange.send(200, { "content-type": "text/html" }, "<html>"),
  ],
  "a connection that breaks": ["upstream_failed", (exchange) => exchange.destroy()],
};

/** Together AI gets seeds of 31 bits. */
const lastInt32 = 2 ** 31 - 1;

/** Image models by what draws them, and how it is done: with seeds, or with previews. */
const artists: Readonly<Record<string, Script>> = {
  flux: drawing("vllm-omni/image"),
  "stabilityai/stable-diffusion-xl-base-1.0": drawing("together/image", sidesOf),
  "gpt-image-2": gptImage,
};

/**
 * A subject for the contract suite.
 * @param dialect of the server that draws
 */
export async function echoSubject(image: string, dialect = "auto"): Promise<Subject> {
  const upstream = await Upstream.start(echo);
  let next: Script | undefined;
  const answering = (usual: Script): Script => {
    return (exchange) => {
      const script = next ?? usual;
      next = undefined;
      return script(exchange);
    };
  };
  upstream.route("/v1/chat/completions", answering(echo));
  upstream.route("/v1/chat/completions/input_tokens", answering(counted));
  upstream.route("/v1/images/generations", answering(artists[image] ?? gptImage));
  return {
    backend: backendFor(upstream.url, { image_models: [image], dialect }),
    request: requestsOf({ modelId: image, width: 64, height: 48 }),
    hold(method, at): Held {
      const held = new Promise<Exchange>((resolve) => {
        next = async (exchange) => {
          if (at === "middle" && method === "chat") {
            await exchange.stream(chunk({ content: "a" }));
          }
          resolve(exchange);
          await exchange.gone;
        };
      });
      return { reached: held.then(() => {}), stopped: held.then((exchange) => exchange.gone) };
    },
    provoke(failure) {
      next = failures[failure]?.[1];
    },
    ...(image !== "gpt-image-2" && {
      picture: ({ prompt = "", width = 0, height = 0 }, reported: number) => {
        const seed = dialect === "together" ? reported % lastInt32 || lastInt32 : reported;
        return drawn({ prompt, width, height, seed });
      },
    }),
    close: () => upstream.close(),
  };
}
