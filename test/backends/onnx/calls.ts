/** Calls of the image engine's backends, for tests. */
import type { Progress } from "../../../gen/lintel/v1/image_pb.js";
import type { ResidentBackend } from "../../../src/backends/resident.js";
import { LintelError } from "../../../src/core/errors.js";
import { opened } from "../serve.js";
import { callOf } from "../subject.js";
import { backendOf, endless, requestOf } from "./support.js";

/** What differs from a small request. */
export type Changes = Parameters<typeof requestOf>[0];

/** A backend over a folder, which is closed after the test. */
export const open = (...from: Parameters<typeof backendOf>): ResidentBackend =>
  opened(backendOf(...from));

/** Every event of a call. @param begun whether more of its request is made already */
export async function* eventsOf(
  backend: ResidentBackend,
  request: Changes,
  signal?: AbortSignal,
  begun = false,
) {
  const handle = backend.handlers.streamTextToImage;
  if (!handle) throw new Error("no handler");
  const call = callOf("streamTextToImage", requestOf(request), signal);
  for await (const batch of handle({ ...call, begun })) {
    for (const { event } of batch) yield event;
  }
}

/** The progress of a whole call. */
export async function progressOf(
  backend: ResidentBackend,
  request: Changes,
  begun = false,
): Promise<Progress[]> {
  const all: Progress[] = [];
  for await (const event of eventsOf(backend, request, undefined, begun)) {
    if (event.case === "progress") all.push(event.value);
  }
  return all;
}

/** A call that runs until it is stopped. Resolves once it runs, with what stops it. */
export async function occupied(backend: ResidentBackend) {
  const controller = new AbortController();
  let ended: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve) => {
    ended = (async () => {
      for await (const _ of eventsOf(backend, endless, controller.signal)) resolve();
    })().catch((reason: unknown) => reason);
  });
  return async () => {
    controller.abort(new LintelError("cancelled", "the test is done with it"));
    await ended;
  };
}
