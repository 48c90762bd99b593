/** Calls to `comfyui` backends before scripted servers that go when a test is over. */
import { onTestFinished } from "vitest";
import type {
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../gen/lintel/v1/image_pb.js";
import type { Backend } from "../../src/core/backend.js";
import type { LintelError } from "../../src/core/errors.js";
import { never } from "../support/calls.js";
import { Comfy } from "./comfyui-server.js";
import { backendFor } from "./comfyui-subject.js";
import { smallRequest } from "./sdapi-subject.js";
import { callOf } from "./subject.js";

/** What a call says. */
export type Event = StreamTextToImageResponse["event"];

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

/** Gives each event to a listener as it comes; resolves with all. */
export async function run(
  backend: Backend,
  request: Partial<TextToImageRequest> = {},
  by: AbortSignal = never,
  listen: (event: Event) => void = () => {},
): Promise<Event[]> {
  const { streamTextToImage } = backend.handlers;
  if (!streamTextToImage) throw new Error("no handler");
  const events: Event[] = [];
  const call = callOf("streamTextToImage", smallRequest(request), by);
  for await (const step of streamTextToImage(call)) {
    for (const { event } of step) {
      events.push(event);
      listen(event);
    }
  }
  return events;
}

/** What a promise failed with. */
export const thrownBy = (promise: Promise<unknown>) =>
  promise.then(
    () => new Error("it succeeded"),
    (error: LintelError) => error,
  );

/** Images among what a call said. */
export const imagesOf = (events: Event[]) =>
  events.flatMap((event) =>
    event.case === "image" && event.value.media ? [event.value.media] : [],
  );

/** Progress among what a call said. */
export const progressOf = (events: Event[]) =>
  events.flatMap((event) => (event.case === "progress" ? [event.value] : []));
