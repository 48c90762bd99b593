/** Headers of callers, as each kind of backend hands them on. */
import { expect, it, onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import type { BackendMethod, Input } from "../../src/core/methods.js";
import { never } from "../support/calls.js";
import { compatibleAt } from "./ai-sdk-subject.js";
import { Comfy } from "./comfyui-server.js";
import { backendFor as comfyuiFor } from "./comfyui-subject.js";
import { chatting, connectTo, serve as node, piece } from "./node-peer.js";
import { drawing, gptImage } from "./openai-images-subject.js";
import { chatRequest, backendFor as openaiFor, streamOf } from "./openai-subject.js";
import { imageRequest } from "./picture.js";
import { restAt } from "./rest-subject.js";
import { Webui } from "./sdapi-server.js";
import { backendFor as sdapiFor, smallRequest } from "./sdapi-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

type Sent = Readonly<Record<string, string | string[] | undefined>>;

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const passed = new Map([
  ["x-tenant", "acme"],
  ["x-session-id", "s1"],
]);

/** Runs a call of somebody with these headers to its end. */
async function ask<M extends BackendMethod>(
  { handlers }: Backend,
  method: M,
  request: Input<M>,
): Promise<void> {
  const call = { ...callOf(method, request), passed, affinity: "s1", trace: { traceparent } };
  for await (const _ of handlers[method]?.(call as never) ?? []);
}

const says = streamOf([{ content: "hello" }]);

/** What the last request to a scripted server with a body had. */
async function behind(
  script: Script,
  at: (url: string) => Backend,
  run: (backend: Backend) => Promise<unknown>,
): Promise<Sent> {
  const server = await serve(script);
  server.route("/v1/models", (exchange) => exchange.sendJson(200, { object: "list", data: [] }));
  const backend = opened(at(server.url));
  await backend.ready?.("", never);
  await run(backend);
  return server.requests.findLast(({ method }) => method === "POST")?.headers ?? {};
}

const chat = (backend: Backend) => ask(backend, "chat", chatRequest());
const draw = (backend: Backend) =>
  ask(backend, "streamTextToImage", imageRequest({ modelId: "m" }));

it.each<[string, () => Promise<Sent>]>([
  ["openai, chat", () => behind(says, openaiFor, chat)],
  [
    "openai, chat, of which the server is told in a header which belong together",
    () => behind(says, (url) => openaiFor(url, { session_header: "x-router" }), chat),
  ],
  [
    "openai, images",
    () => behind(gptImage, (url) => openaiFor(url, { image_models: ["m"] }), draw),
  ],
  ["rest, chat", () => behind(says, restAt, chat)],
  ["ai-sdk, chat", () => behind(says, compatibleAt, chat)],
  [
    "ai-sdk, images",
    () =>
      behind(
        drawing("openai/image-dall-e"),
        (url) => compatibleAt(url, { models: [{ id: "m", task: "image" }] }),
        (backend) => ask(backend, "textToImage", imageRequest({ modelId: "m" })),
      ),
  ],
  [
    "node",
    async () => {
      const sent: Record<string, string> = {};
      const peer = await node(
        chatting(async function* (_, __, headers) {
          headers.forEach((value, name) => {
            sent[name] = value;
          });
          yield piece("hello", "stop");
        }),
      );
      await chat(connectTo(peer.address));
      return sent;
    },
  ],
  [
    "sdapi",
    async () => {
      const webui = await Webui.start("a1111");
      onTestFinished(() => webui.upstream.close());
      const backend = opened(sdapiFor(webui.upstream.url));
      await backend.ready?.("", never);
      const modelId = backend.models()[0]?.id ?? "";
      await ask(backend, "streamTextToImage", smallRequest({ modelId }));
      const drawn = webui.upstream.requests.find(({ path }) =>
        path.startsWith("/sdapi/v1/txt2img"),
      );
      return drawn?.headers ?? {};
    },
  ],
  [
    "comfyui",
    async () => {
      const comfy = await Comfy.start();
      onTestFinished(() => comfy.close());
      const backend = opened(comfyuiFor(comfy.url));
      await backend.ready?.("", never);
      await ask(backend, "streamTextToImage", smallRequest());
      return comfy.submittedHeaders;
    },
  ],
])("%s: they reach the server as they are", async (_, sent) => {
  expect(await sent()).toMatchObject({ "x-tenant": "acme", "x-session-id": "s1", traceparent });
});
