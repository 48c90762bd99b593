import { describe, expect, test } from "vitest";
import { LargeAnswer } from "../../src/backends/http/large.js";
import { never } from "../support/calls.js";
import { Comfy } from "./comfyui-server.js";
import { backendFor as comfyuiAt } from "./comfyui-subject.js";
import { drawing } from "./openai-images-subject.js";
import { backendFor as openaiAt } from "./openai-subject.js";
import { imageRequest, picture } from "./picture.js";
import { livepeerImages, restAt } from "./rest-subject.js";
import { smallRequest } from "./sdapi-subject.js";
import { callOf } from "./subject.js";
import { Upstream } from "./upstream.js";

/** Whether a promise has settled once everything that is ready has run. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

describe("large answers", () => {
  test("eight at once; the others wait their turn, and who leaves gives up its place", async () => {
    const all = Array.from({ length: 11 }, () => new LargeAnswer());
    const [inside, waiting] = [all.slice(0, 8), all.slice(8)];
    for (const answer of inside) await answer.enter(never);
    const left = new AbortController();
    const [first, second, third] = waiting.map((answer, i) =>
      answer.enter(i === 1 ? left.signal : never),
    ) as [Promise<void>, Promise<void>, Promise<void>];
    expect(await settled(first)).toBe(false);
    left.abort(new Error("left"));
    await expect(second).rejects.toThrow("left");
    inside[0]?.leave();
    inside[0]?.leave();
    await first;
    expect(await settled(third)).toBe(false);
    inside[1]?.leave();
    await third;
    for (const answer of all) answer.leave();
    const last = new LargeAnswer();
    await last.enter(never);
    last.leave();
  });

  test("a place that becomes free is for who waits, not for who comes in the same moment", async () => {
    const inside = Array.from({ length: 8 }, () => new LargeAnswer());
    for (const answer of inside) await answer.enter(never);
    const [waiting, late] = [new LargeAnswer(), new LargeAnswer()];
    const waited = waiting.enter(never);
    inside[0]?.leave();
    const entered = late.enter(never);
    await waited;
    expect(await settled(entered)).toBe(false);
    waiting.leave();
    await entered;
    for (const answer of [...inside, late]) answer.leave();
  });

  test.each([
    [
      "openai",
      async () => {
        const server = await Upstream.start(drawing("vllm-omni/image"));
        server.route("/v1/models", (exchange) => exchange.sendJson(404, {}));
        const request = imageRequest({ modelId: "flux", width: 64, height: 48 });
        return { server, request, backend: openaiAt(server.url, { image_models: ["flux"] }) };
      },
    ],
    [
      "comfyui",
      async () => {
        const server = await Comfy.start();
        return { server, request: smallRequest({}), backend: comfyuiAt(server.url) };
      },
    ],
    [
      "rest",
      async () => {
        const server = await Upstream.start((exchange) =>
          exchange.request.method === "POST"
            ? livepeerImages(exchange)
            : exchange.send(200, {}, picture(64, 48, 1)),
        );
        const request = imageRequest({ modelId: "draw", width: 64, height: 48, seed: 1n });
        return { server, request, backend: restAt(server.url) };
      },
    ],
  ] as const)("of %s are not held up by images that nobody reads on", async (_, open) => {
    const { server, request, backend } = await open();
    await backend.ready?.("", never);
    const streams = [];
    for (let i = 0; i < 9; i++) {
      const stream = backend.handlers
        .streamTextToImage?.(callOf("streamTextToImage", request))
        [Symbol.asyncIterator]();
      streams.push(stream);
      for (let drawn = false; !drawn; ) {
        const step = await stream?.next();
        if (!step || step.done) throw new Error("it ended without an image");
        drawn = step.value.some(({ event }) => event.case === "image");
      }
    }
    for (const stream of streams) await stream?.return?.();
    await backend.close();
    await server.close();
  });
});
