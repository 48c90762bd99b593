/** Calls for images to `openai` backends, and scripted servers that go when a test is over. */

import { expect, onTestFinished } from "vitest";
import type { Media } from "../../gen/lintel/v1/image_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import { never } from "../support/calls.js";
import { fixture } from "./fixture.js";
import { backendFor } from "./openai-subject.js";
import { imageRequest } from "./picture.js";
import { callOf } from "./subject.js";
import { type Script, Upstream } from "./upstream.js";

/** A size that is quick to draw. */
export const small = { width: 64, height: 48 };

/** A server that lists as in a fixture and draws as a script says, and a backend for it. */
export async function against(models: string, script: Script, config: object = {}) {
  const server = await Upstream.start(script);
  server.route("/v1/models", (exchange) => exchange.play(fixture(models)));
  const backend = backendFor(server.url, { models: undefined, ...config });
  onTestFinished(() => server.close());
  onTestFinished(() => backend.close());
  await backend.ready?.("", never);
  const sent = () =>
    server.requests.filter(({ method }) => method === "POST").map((r) => JSON.parse(`${r.body}`));
  return { server, backend, sent };
}

/** Images and previews of one call. */
export async function generate(backend: Backend, more: object, signal?: AbortSignal) {
  const call = callOf("streamTextToImage", imageRequest({ ...small, ...more }), signal);
  const images: Media[] = [];
  const previews: Uint8Array[] = [];
  const steps: number[] = [];
  /** Whose each preview is. */
  const of: number[] = [];
  for await (const step of backend.handlers.streamTextToImage?.(call) ?? []) {
    for (const { event } of step) {
      if (event.case === "image" && event.value.media) {
        images[event.value.index] = event.value.media;
      }
      if (event.case === "progress" && event.value.preview.length > 0) {
        previews.push(event.value.preview);
        steps.push(event.value.step);
        of.push(event.value.index);
      }
    }
  }
  return { images, previews, steps, of, warnings: [...call.warnings] };
}

/** What a promise failed with; its words give no address away. */
export async function failure(promise: Promise<unknown>): Promise<LintelError> {
  const error = await promise.then(
    () => "nothing was thrown",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LintelError);
  expect((error as LintelError).message).not.toMatch(/127\.0\.0\.1|localhost|:\d{4,5}/);
  return error as LintelError;
}

/** Fields that every image model honours. */
export const always = ["width", "height", "num_images_per_prompt"];
/** Fields that only tune. */
export const tuned = ["negative_prompt", "guidance_scale", "num_inference_steps"];
