/** A call's own time to connect, which image servers are begun with. */
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { Socket } from "../../src/backends/comfyui/socket.js";
import { type Request, Transport } from "../../src/backends/http/transport.js";
import type { Backend } from "../../src/core/backend.js";
import { never } from "../support/calls.js";
import { Comfy } from "./comfyui-server.js";
import { backendFor as comfyuiAt } from "./comfyui-subject.js";
import { Webui } from "./sdapi-server.js";
import { backendFor as sdapiAt, smallRequest } from "./sdapi-subject.js";
import { opened } from "./serve.js";
import { callOf } from "./subject.js";

/** Time to connect of each path that was asked for, where one request at least had one. */
let connects: Record<string, number | undefined>;

beforeEach(() => {
  connects = {};
  const { send } = Transport.prototype;
  vi.spyOn(Transport.prototype, "send").mockImplementation(function (
    this: Transport,
    request: Request,
  ) {
    connects[request.path.replace(/\?.*/, "")] ??= request.connect;
    return send.call(this, request);
  });
});
afterEach(() => void vi.restoreAllMocks());

async function draw(backend: Backend, connectMs: number | undefined, loras: string) {
  await backend.ready?.("", never);
  const modelId = backend.models()[0]?.id ?? "";
  const call = callOf("streamTextToImage", smallRequest({ modelId, loras }));
  for await (const _ of backend.handlers.streamTextToImage?.({ ...call, connectMs }) ?? []);
}

it.each([300, undefined])("counts for what begins a picture of the web API: %s", async (ms) => {
  const webui = await Webui.start("a1111");
  onTestFinished(() => webui.upstream.close());
  const backend = opened(sdapiAt(webui.upstream.url));
  await draw(backend, ms, "");
  // Whether it has come since is asked.
  const unknown = draw(backend, ms, '{"no-such":1}');
  await expect(unknown).rejects.toMatchObject({ code: "invalid_value" });
  expect(connects).toMatchObject({
    "/sdapi/v1/sd-models": undefined,
    "/sdapi/v1/loras": ms,
    "/sdapi/v1/progress": ms,
    "/sdapi/v1/txt2img": ms,
  });
});

it.each([
  [300, 300],
  [60_000, 5000],
  [undefined, 5000],
])("counts for what begins a prompt of ComfyUI: %s", async (ms, socket) => {
  const open = vi.spyOn(Socket, "open");
  const comfy = await Comfy.start();
  onTestFinished(() => comfy.close());
  const backend = opened(comfyuiAt(comfy.url));
  await backend.ready?.("", never);
  const [lora = ""] = backend.models()[0]?.loras ?? [];
  await draw(backend, ms, JSON.stringify({ [lora]: 0.8 }));
  expect(connects).toMatchObject({
    "/object_info/CheckpointLoaderSimple": undefined,
    "/object_info/LoraLoader": ms,
    "/prompt": ms,
  });
  expect(open).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ timeout: socket }));
});
