/** Calls to `comfyui` backends before scripted servers that go when a test is over. */
import { onTestFinished } from "vitest";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import type { Backend } from "../../src/core/backend.js";
import type { LintelError } from "../../src/core/errors.js";
import { never } from "../support/calls.js";
import { Comfy } from "./comfyui-server.js";
import { backendFor } from "./comfyui-subject.js";
import { type Event, eventsOf } from "./image-events.js";
import { smallRequest } from "./sdapi-subject.js";

/** A scripted server, and a backend that knows its models. */
export async function against(config: object = {}, prepare: (comfy: Comfy) => void = () => {}) {
  const comfy = await Comfy.start();
  prepare(comfy);
  const backend = backendFor(comfy.url, config);
  onTestFinished(() => comfy.close());
  onTestFinished(() => backend.close());
  await backend.ready?.("", never);
  return { comfy, backend };
}

/** The events of a small request; see `eventsOf`. */
export const run = (
  backend: Backend,
  request: Partial<TextToImageRequest> = {},
  by?: AbortSignal,
  listen?: (event: Event) => void,
) => eventsOf(backend, smallRequest(request), by, listen);

/** What a promise failed with. */
export const thrownBy = (promise: Promise<unknown>) =>
  promise.then(
    () => new Error("it succeeded"),
    (error: LintelError) => error,
  );
