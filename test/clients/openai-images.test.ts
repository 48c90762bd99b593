/** OpenAI's own SDK for Node, unmodified: images. */
import OpenAI, { BadRequestError } from "openai";
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { progressEvent } from "../../src/core/image-events.js";
import { serve } from "../doors/serve.js";
import { paints, png, scripted } from "../support/scripted.js";

async function sdk(streamTextToImage: Handle<"streamTextToImage"> = paints()) {
  const { url } = await serve(scripted({ streamTextToImage }));
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
}

describe("openai: images", () => {
  test("generate, as address and inline", async () => {
    const { images } = await sdk();
    const prompt = "a cat";
    const byUrl = await images.generate({ prompt, n: 2, size: "1024x1024" });
    expect(byUrl.data?.map((image) => image.url)).toEqual(
      Array(2).fill(expect.stringMatching(/^http/)),
    );
    const inline = await images.generate({ prompt, response_format: "b64_json" });
    const bytes = Buffer.from(inline.data?.[0]?.b64_json ?? "", "base64");
    expect(bytes.subarray(0, 8)).toEqual(png(0).subarray(0, 8));
  });

  test("generate, streamed", async () => {
    const shown: Handle<"streamTextToImage"> = async function* (call) {
      yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2, preview: png(1) })];
      yield* paints()(call);
    };
    const { images } = await sdk(shown);
    const asked = { prompt: "a cat", seed: 7, stream: true, partial_images: 1 } as const;
    const seen: unknown[] = [];
    for await (const event of await images.generate(asked)) {
      seen.push([event.type, Buffer.from(event.b64_json, "base64")]);
    }
    expect(seen).toEqual([
      ["image_generation.partial_image", png(1)],
      ["image_generation.completed", png(7)],
    ]);
  });

  test("a failure in mid-stream is thrown with its message", async () => {
    const broken: Handle<"streamTextToImage"> = async function* () {
      yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2, preview: png(1) })];
      throw new LintelError("upstream_failed", "it broke");
    };
    const { images } = await sdk(broken);
    const read = async () => {
      const asked = { prompt: "a cat", stream: true, partial_images: 1 } as const;
      for await (const _ of await images.generate(asked));
    };
    await expect(read()).rejects.toThrow("it broke");
  });

  test("errors", async () => {
    const error = await (await sdk()).images
      .generate({ prompt: " " })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ param: "prompt" });
  });
});
