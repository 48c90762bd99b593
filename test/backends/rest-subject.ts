/** `rest` backends before scripted gateways. */
import { createRestBackend } from "../../src/backends/rest/index.js";
import { restSchema } from "../../src/backends/rest/schema.js";
import type { Backend } from "../../src/core/backend.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { silent } from "../../src/core/log.js";
import { fixture } from "./fixture.js";
import { filled } from "./openai-images-subject.js";
import { chunk, requestsOf } from "./openai-subject.js";
import { picture } from "./picture.js";
import type { Held, Subject } from "./subject.js";
import { type Exchange, type Script, Upstream } from "./upstream.js";

/** A backend for a gateway; fields as in the configuration. */
export function restAt(url: string, config: object = {}): Backend {
  const models = [
    { id: "m", task: "chat" },
    { id: "draw", task: "image" },
  ];
  const entry = restSchema.parse({ type: "rest", name: "test", url, models, ...config });
  return createRestBackend(entry, { log: silent });
}

/** A gateway that answers `/llm` with the last message, word by word or whole. */
const echo: Script = async (exchange) => {
  const { messages, stream, max_tokens } = exchange.json();
  const words = `you said ${messages.at(-1).content}`.split(" ").slice(0, max_tokens);
  const [prompt_tokens, completion_tokens] = [3, words.length];
  const usage = { prompt_tokens, completion_tokens, total_tokens: 3 + words.length };
  if (!stream) {
    const message = { role: "assistant", content: words.join(" ") };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return exchange.sendJson(200, { id: "chatcmpl-1", created: 1, model: "m", choices, usage });
  }
  const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const parts = words.map((word) => ({ ...chunk({ content: `${word} ` }), usage: zeros }));
  const end = { ...chunk({ role: "assistant", content: "" }, "stop"), usage };
  await exchange.stream(...parts, end, "data: [DONE]\n\n");
  await exchange.end();
};

/** Address and seed of each image of a request. */
function mediaOf(exchange: Exchange) {
  const { seed, width, height, num_images_per_prompt } = exchange.json();
  const origin = `http://${exchange.request.headers.host}`;
  return Array.from({ length: num_images_per_prompt }, (_, i) => {
    const own = (seed + i) % 2 ** 32;
    return { url: `${origin}/media/${own}-${width}x${height}.png`, seed: own, nsfw: false };
  });
}

/** A gateway that streams images as events: progress, a preview, images, and the end. */
const streaming: Script = async (exchange) => {
  const images = mediaOf(exchange);
  const { num_inference_steps: steps, include_previews } = exchange.json();
  const preview = `data:image/png;base64,${picture(8, 8, 1).toString("base64")}`;
  const events = images.flatMap((image, index) => [
    ...[1, 2].map((step) => ({
      ...{ type: "progress", index, images: images.length, step, steps, percent: 10 * step },
      ...(include_previews && { preview }),
    })),
    { type: "image", index, image },
  ]);
  await exchange.stream(...events, { type: "done", images });
  await exchange.end();
};

/** The images of a gateway, at their addresses. */
const files: Script = (exchange) => {
  const [, seed, width, height] = /(\d+)-(\d+)x(\d+)\.png$/.exec(exchange.request.path) ?? [];
  const png = picture(Number(width), Number(height), Number(seed));
  return exchange.send(200, { "content-type": "image/png" }, png);
};

/** A gateway that answers whole, with addresses relative to itself. */
export const livepeerImages: Script = (exchange) => {
  const { seed, width, height } = exchange.json();
  return exchange.play(filled("livepeer/images", { seed: `${seed}`, size: `${width}x${height}` }));
};

/** Failures of a gateway, and how they come out. */
export const failures: Readonly<Record<string, readonly [ErrorCode, Script]>> = {
  "fields out of bounds": ["invalid_fields", (e) => e.play(fixture("lintel/bad-fields"))],
  "a limit": ["rate_limited", (e) => e.play(fixture("lintel/rate-limited"))],
  "a refused token": ["upstream_failed", (e) => e.play(fixture("lintel/bad-token"))],
  "a gateway that leaves": ["unavailable", (e) => e.play(fixture("lintel/leaving"))],
  "a value that another gateway refuses": [
    "invalid_value",
    (e) => e.play(fixture("livepeer/refused")),
  ],
  "a page of HTML": [
    "upstream_failed",
    (e) => e.send(200, { "content-type": "text/html" }, "<html>"),
  ],
  "an error without a body": ["upstream_failed", (e) => e.send(500, {}, "")],
  "a connection that breaks": ["upstream_failed", (e) => e.destroy()],
};

/** A whole gateway of images. */
export const paintsByEvents: Script = (exchange) =>
  exchange.request.method === "GET" ? files(exchange) : streaming(exchange);

/** A scripted gateway; what it does with the next request of an operation can be changed. */
export async function gateway(): Promise<Upstream & { next?: Script | undefined }> {
  const upstream: Upstream & { next?: Script | undefined } = await Upstream.start(files);
  const usually = (usual: Script): Script => {
    return (exchange) => {
      const script = upstream.next ?? usual;
      upstream.next = undefined;
      return script(exchange);
    };
  };
  return upstream.route("/llm", usually(echo)).route("/text-to-image", usually(streaming));
}

/** A subject for the contract suite. */
export async function gatewaySubject(): Promise<Subject> {
  const upstream = await gateway();
  return {
    backend: restAt(upstream.url),
    request: requestsOf({ modelId: "draw", width: 64, height: 48, seed: 5n }),
    hold(method, at): Held {
      const held = new Promise<Exchange>((resolve) => {
        upstream.next = async (exchange) => {
          if (at === "middle") {
            const progress = { type: "progress", index: 0, images: 1, step: 1, steps: 50 };
            await exchange.stream(method === "chat" ? chunk({ content: "a" }) : progress);
          }
          resolve(exchange);
          await exchange.gone;
        };
      });
      return { reached: held.then(() => {}), stopped: held.then((exchange) => exchange.gone) };
    },
    provoke(failure) {
      upstream.next = failures[failure]?.[1];
    },
    picture: ({ width = 0, height = 0 }, seed) => picture(width, height, seed),
    close: () => upstream.close(),
  };
}
