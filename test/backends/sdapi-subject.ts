/** An `sdapi` backend before a scripted server. */
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import { createSdapiBackend } from "../../src/backends/sdapi/index.js";
import { sdapiSchema } from "../../src/backends/sdapi/schema.js";
import type { Backend } from "../../src/core/backend.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { silent } from "../../src/core/log.js";
import type { BackendMethod, Input } from "../../src/core/methods.js";
import { never } from "../support/calls.js";
import { fixture } from "./fixture.js";
import { paint } from "./paint.js";
import { imageRequest } from "./picture.js";
import { type Product, pictureOf, promptOf, Webui } from "./sdapi-server.js";
import { type Held, held, type Subject } from "./subject.js";
import type { Script } from "./upstream.js";

/** A backend for a server; fields as in the configuration. */
export function backendFor(url: string, config: object = {}): Backend {
  const entry = sdapiSchema.parse({ type: "sdapi", name: "test", url, poll: 1, ...config });
  return createSdapiBackend(entry, { log: silent });
}

/** A small request with every default filled in. */
export const smallRequest = (more: Partial<TextToImageRequest> = {}): TextToImageRequest =>
  imageRequest({
    modelId: "v1-5-pruned-emaonly",
    prompt: "a red cube",
    width: 64,
    height: 64,
    numInferenceSteps: 4,
    seed: 7n,
    ...more,
  });

const play =
  (name: string): Script =>
  (exchange) =>
    exchange.play(fixture(name));
const images =
  (...list: unknown[]): Script =>
  (exchange) =>
    exchange.sendJson(200, { images: list, parameters: {}, info: "{}" });
const picture = paint(64, 64, 1).toString("base64");

/** Failures that the contract suite provokes: how they come out, and what the server does. */
export const failures: Readonly<Record<string, readonly [ErrorCode, Script]>> = {
  "too little memory": ["upstream_failed", play("a1111/out-of-memory")],
  "an unknown sampler": ["invalid_value", play("a1111/sampler")],
  "a field of the wrong type": ["invalid_value", play("a1111/wrong-field")],
  "a refused password": ["upstream_failed", play("a1111/unauthorized")],
  "a server without its API": ["upstream_failed", play("a1111/no-api")],
  "no images": ["upstream_failed", images()],
  "an answer without images": ["upstream_failed", (exchange) => exchange.sendJson(200, {})],
  "an image that is none": ["upstream_failed", images(Buffer.from("<html>").toString("base64"))],
  "an image that is a number": ["upstream_failed", images(1)],
  "an image that is cut off": ["upstream_failed", images(picture.slice(0, 24))],
  "a page of HTML": ["upstream_failed", (e) => e.send(200, { "content-type": "text/html" }, "<p>")],
  "an error without a body": ["upstream_failed", (exchange) => exchange.send(500, {}, "")],
  "a connection that breaks": ["upstream_failed", (exchange) => exchange.destroy()],
};

/** A subject for the contract suite. */
export async function subjectFor(product: Product): Promise<Subject> {
  const webui = await Webui.start(product);
  const backend = backendFor(webui.upstream.url);
  await backend.ready?.("", never);
  const [model] = backend.models();
  return {
    backend,
    request<M extends BackendMethod>(_: M, text = "a red cube"): Input<M> {
      return smallRequest({ prompt: text, modelId: model?.id ?? "" }) as Input<M>;
    },
    picture(request, seed) {
      const last = webui.asked.find((body) => promptOf(body) === request.prompt);
      return pictureOf(last, seed);
    },
    hold(_, at): Held {
      webui.stuck = at === "before" ? 0 : 1;
      return held(webui);
    },
    provoke(failure) {
      const script = failures[failure]?.[1];
      if (script) webui.next.push(script);
    },
    close: () => webui.upstream.close(),
  };
}
