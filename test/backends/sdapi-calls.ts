/** Calls to `sdapi` backends before scripted servers that go when a test is over. */
import { expect, onTestFinished } from "vitest";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { never } from "../support/calls.js";
import { type Event, eventsOf } from "./image-events.js";
import { type Product, Webui } from "./sdapi-server.js";
import { backendFor, smallRequest } from "./sdapi-subject.js";

/** A scripted server, and a backend that knows its models. */
export async function against(product: Product, config: object = {}) {
  const webui = await Webui.start(product);
  const backend = backendFor(webui.upstream.url, config);
  onTestFinished(() => webui.upstream.close());
  onTestFinished(() => backend.close());
  await backend.ready?.("", never);
  return { webui, backend };
}

/** The events of a small request for the first of its models; see `eventsOf`. */
export function run(
  backend: Backend,
  request: Partial<TextToImageRequest> = {},
  by?: AbortSignal,
  listen?: (event: Event) => void,
) {
  const modelId = backend.models()[0]?.id ?? "";
  return eventsOf(backend, smallRequest({ modelId, ...request }), by, listen);
}

/** An error, by its code. */
export const failed = (code: string) => expect.objectContaining({ name: "LintelError", code });
