/** `ai-sdk` backends before scripted vendors. */
import { AiSdkBackend } from "../../src/backends/ai-sdk/index.js";
import { aiSdkSchema } from "../../src/backends/ai-sdk/schema.js";
import type { Backend } from "../../src/core/backend.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { type Logger, silent } from "../../src/core/log.js";
import type { BackendMethod, Input } from "../../src/core/methods.js";
import { say } from "../support/messages.js";
import { type Fixture, fixture } from "./fixture.js";
import { backendFor, chatRequest } from "./openai-subject.js";
import { imageRequest, picture } from "./picture.js";
import type { Held, Subject } from "./subject.js";
import { type Exchange, type Script, Upstream } from "./upstream.js";

/** A backend; fields as in the configuration. */
export function aiSdkBackend(config: object, log: Logger = silent): Backend {
  const entry = aiSdkSchema.parse({ type: "ai-sdk", name: "test", ...config });
  return new AiSdkBackend(entry, { log });
}

/** A backend for Anthropic's models at an address. */
export const anthropicAt = (url: string, config: object = {}) =>
  aiSdkBackend({
    package: "@ai-sdk/anthropic",
    options: { apiKey: "sk-ant-secret", baseURL: `${url}/v1` },
    models: [{ id: "m" }],
    ...config,
  });

/** A backend for models of a server of OpenAI's form at an address. */
export const compatibleAt = (url: string, config: object = {}) =>
  aiSdkBackend({
    package: "@ai-sdk/openai-compatible",
    options: { name: "x", baseURL: `${url}/v1`, apiKey: "k" },
    models: [{ id: "m" }],
    ...config,
  });

/** A backend for OpenAI's models, which speaks of responses, at an address. */
export const openaiAt = (url: string, config: object = {}) =>
  aiSdkBackend({
    package: "@ai-sdk/openai",
    options: { apiKey: "sk-secret", baseURL: `${url}/v1` },
    models: [{ id: "m" }],
    ...config,
  });

/** The kinds of backend that speak to such a server, each at an address. */
export const compatibleKinds: readonly (readonly [
  kind: string,
  backendAt: (url: string) => Backend,
])[] = [
  ["openai", backendFor],
  ["ai-sdk", compatibleAt],
];

/** A backend for fal's models at an address. */
export const falAt = (url: string, config: object = {}) =>
  aiSdkBackend({
    package: "@ai-sdk/fal",
    options: { apiKey: "fal-secret", baseURL: url },
    models: [{ id: "m", task: "image" }],
    ...config,
  });

const event = (data: { type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

const start = (input_tokens: number) => ({
  type: "message_start",
  message: {
    ...{ model: "m", id: "msg_1", type: "message", role: "assistant", content: [] },
    ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens, output_tokens: 1 } },
  },
});

const delta = (text: string) => ({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text },
});

/** Anthropic's API, that answers with the last message, word by word or whole. */
export const echo: Script = async (exchange) => {
  const { messages, stream, max_tokens } = exchange.json();
  const words = `you said ${messages.at(-1).content[0].text}`.split(" ").slice(0, max_tokens);
  const usage = { input_tokens: 3, output_tokens: words.length };
  if (!stream) {
    const content = [{ type: "text", text: words.join(" ") }];
    const { message } = start(3);
    return exchange.sendJson(200, { ...message, content, stop_reason: "end_turn", usage });
  }
  const block = {
    type: "content_block_start",
    index: 0,
    content_block: { type: "text", text: "" },
  };
  const end = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage };
  const parts = [start(3), block, ...words.map((word) => delta(`${word} `))];
  const rest = [{ type: "content_block_stop", index: 0 }, end, { type: "message_stop" }];
  await exchange.stream(...[...parts, ...rest].map(event));
  await exchange.end();
};

/** Failures of Anthropic's API, and how they come out. */
export const chatFailures: Readonly<Record<string, readonly [ErrorCode, Script]>> = {
  "too many requests": ["rate_limited", (e) => e.play(fixture("anthropic/rate-limited"))],
  "overload of the service": ["unavailable", (e) => e.play(fixture("anthropic/overloaded"))],
  "a wrong request": ["invalid_value", (e) => e.play(fixture("anthropic/bad-request"))],
  "a refused key": ["upstream_failed", (e) => e.play(fixture("anthropic/bad-key"))],
  "an error without a body": ["upstream_failed", (e) => e.send(500, {}, "")],
  "a page of HTML": [
    "upstream_failed",
    (e) => e.send(200, { "content-type": "text/html" }, "<html>"),
  ],
  "a connection that breaks": ["upstream_unreachable", (e) => e.destroy()],
  "a redirect": [
    "upstream_failed",
    (e) => e.send(307, { location: "http://169.254.169.254/latest" }, ""),
  ],
};

/** fal's answer to a request, with addresses of this server. */
export function falAnswer(exchange: Exchange): Fixture {
  const { seed, image_size, prompt } = exchange.json();
  const { width, height } = image_size;
  const answer = fixture("fal/image");
  const file = `${seed}-${width}x${height}-${encodeURIComponent(prompt)}`;
  const body = answer.body
    .toString()
    .replace("{origin}", `http://${exchange.request.headers.host}`)
    .replace("kKq3_{seed}", file)
    .replaceAll("{seed}", String(seed));
  return { ...answer, body: Buffer.from(body) };
}

/** fal's API, and its files beside it. */
export const drawing: Script = async (exchange) => {
  if (exchange.request.method === "POST") return exchange.play(falAnswer(exchange));
  const [, seed, width, height, prompt = ""] =
    /(\d+)-(\d+)x(\d+)-(.*)\.png$/.exec(exchange.request.path) ?? [];
  const png = picture(Number(width), Number(height), Number(seed), decodeURIComponent(prompt));
  await exchange.send(200, { "content-type": "image/png" }, png);
};

/** Failures of fal's API, and how they come out. */
export const imageFailures: Readonly<Record<string, readonly [ErrorCode, Script]>> = {
  "a value that the model does not take": [
    "invalid_value",
    (e) => e.play(fixture("fal/bad-request")),
  ],
  "a refused key": ["upstream_failed", (e) => e.play(fixture("fal/bad-key"))],
  "an answer without images": ["upstream_failed", (e) => e.sendJson(200, { detail: "?" })],
  "an image elsewhere": [
    "upstream_failed",
    (e) => e.sendJson(200, { images: [{ url: "http://169.254.169.254/latest/meta-data/" }] }),
  ],
  "an image that is none": [
    "upstream_failed",
    (e) => e.sendJson(200, { images: [{ url: `http://${e.request.headers.host}/text` }] }),
  ],
};

/** Counts a token for each letter, as Anthropic tells it. */
const counted: Script = (exchange) => {
  const input_tokens = exchange.json().messages[0].content[0].text.length;
  return exchange.sendJson(200, { input_tokens });
};

/** A subject for the contract suite. */
export async function vendorSubject(vendor: "anthropic" | "fal"): Promise<Subject> {
  const usual = vendor === "anthropic" ? echo : drawing;
  const failures = vendor === "anthropic" ? chatFailures : imageFailures;
  let next: Script | undefined;
  const unless =
    (usual: Script): Script =>
    (exchange) => {
      const script = next ?? usual;
      next = undefined;
      return script(exchange);
    };
  const upstream = await Upstream.start(unless(usual));
  upstream.route("/v1/messages/count_tokens", unless(counted));
  upstream.route("/text", (exchange) => exchange.send(200, {}, "not an image"));
  return {
    backend: vendor === "anthropic" ? anthropicAt(upstream.url) : falAt(upstream.url),
    request<M extends BackendMethod>(_: M, text = "hello"): Input<M> {
      if (vendor === "fal")
        return imageRequest({ prompt: text, width: 64, height: 48 }) as Input<M>;
      return chatRequest({
        messages: [say("user", text)],
      }) as Input<M>;
    },
    hold(_, at): Held {
      const held = new Promise<Exchange>((resolve) => {
        next = async (exchange) => {
          if (at === "middle") await exchange.stream(event(start(1)), event(delta("a")));
          resolve(exchange);
          await exchange.gone;
        };
      });
      return { reached: held.then(() => {}), stopped: held.then((exchange) => exchange.gone) };
    },
    provoke(failure) {
      next = failures[failure]?.[1];
    },
    close: () => upstream.close(),
  };
}
