/** Calls to `sdapi` backends before scripted servers that go when a test is over. */
import { expect, onTestFinished } from "vitest";
import type {
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../gen/lintel/v1/image_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { never } from "../support/calls.js";
import { type Product, Webui } from "./sdapi-server.js";
import { backendFor, smallRequest } from "./sdapi-subject.js";
import { callOf } from "./subject.js";

/** What a call says. */
export type Event = StreamTextToImageResponse["event"];

/** A scripted server, and a backend that knows its models. */
export async function against(product: Product, config: object = {}) {
  const webui = await Webui.start(product);
  const backend = backendFor(webui.upstream.url, config);
  onTestFinished(() => webui.upstream.close());
  onTestFinished(() => backend.close());
  await backend.ready?.("", never);
  return { webui, backend };
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
  const modelId = backend.models()[0]?.id ?? "";
  const call = callOf("streamTextToImage", smallRequest({ modelId, ...request }), by);
  for await (const step of streamTextToImage(call)) {
    for (const { event } of step) {
      events.push(event);
      listen(event);
    }
  }
  return events;
}

/** Images among what a call said. */
export const imagesOf = (events: Event[]) =>
  events.flatMap((event) =>
    event.case === "image" && event.value.media ? [event.value.media] : [],
  );

/** Progress among what a call said. */
export const progressOf = (events: Event[]) =>
  events.flatMap((event) => (event.case === "progress" ? [event.value] : []));

/** An error, by its code. */
export const failed = (code: string) => expect.objectContaining({ name: "LintelError", code });
