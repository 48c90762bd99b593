/** `POST /text-to-image`. */
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { progressEvent } from "../../src/core/image-events.js";
import { imageModel } from "../support/models.js";
import { paints, png, scripted } from "../support/scripted.js";
import { chunks, json, serve } from "./serve.js";

describe("POST /text-to-image", () => {
  test("images with url, seed and nsfw, never bytes", async () => {
    const backend = scripted({ streamTextToImage: paints() });
    const server = await serve(backend);
    const response = await server.post("/text-to-image", {
      model_id: "",
      prompt: "a cat",
      seed: 4294967295,
      num_images_per_prompt: 2,
      safety_check: false,
      include_data: true,
    });
    expect(response.status).toBe(200);
    expect(await json(response)).toEqual({
      images: [
        { url: expect.stringMatching(/^http:/), seed: 4294967295, nsfw: false },
        { url: expect.stringMatching(/^http:/), seed: 0, nsfw: false },
      ],
    });
  });

  test("warnings stand in the body and the header", async () => {
    const server = await serve(scripted({ streamTextToImage: paints() }));
    const response = await server.post("/text-to-image", { prompt: "a cat" });
    expect(response.headers.get("x-lintel-warnings")).toMatch(/safety_check/);
    expect((await json(response)).warnings).toEqual([expect.stringMatching(/safety_check/)]);
  });

  test("what was dropped stands in the header of a stream that begins before the work does", async () => {
    const streamTextToImage: Handle<"streamTextToImage"> = async function* (call) {
      yield [progressEvent({ index: 0, images: 1, step: 0, steps: 2 })];
      yield* paints()(call);
    };
    const model = imageModel("image-1", { supports: ["seed"] });
    const server = await serve(scripted({ streamTextToImage }, [model]));
    const asked = { prompt: "a cat", negative_prompt: "a dog", stream: true };
    const response = await server.post("/text-to-image", asked);
    expect(response.headers.get("x-lintel-warnings")).toMatch(/negative_prompt: not supported/);
    const [first, ...rest] = await chunks(response);
    expect(first).toMatchObject({ type: "progress", step: 0 });
    expect(rest.at(-1).warnings).toContain("negative_prompt: not supported by this model, ignored");
  });

  test("`loras` may be a JSON object", async () => {
    const backend = scripted({ streamTextToImage: paints() });
    const server = await serve(backend);
    const body = { prompt: "a cat", loras: { style: 0.5 } };
    expect((await server.post("/text-to-image", body)).status).toBe(200);
    expect(backend.asked[0]).toMatchObject({ loras: '{"style":0.5}' });
  });

  test.each([
    ["an array", ["style"]],
    ["a number", 5],
    ["a bool", true],
    ["no JSON", "style:1"],
    ["a negative weight", { style: -1 }],
    ["a weight that is no number", { style: "1" }],
  ])("`loras` that is %s is a 400 that names it", async (_what, loras) => {
    const server = await serve(scripted({ streamTextToImage: paints() }));
    const response = await server.post("/text-to-image", { prompt: "a cat", loras });
    expect(response.status).toBe(400);
    expect((await json(response)).error.param).toBe("loras");
  });

  test("`loras` nested too deeply is a 400 too", async () => {
    const server = await serve(scripted({ streamTextToImage: paints() }));
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    const response = await server.post("/text-to-image", `{"prompt":"a cat","loras":${deep}}`);
    expect(response.status).toBe(400);
    expect((await json(response)).error.param).toBe("loras");
  });

  test("`stream: true` sends progress, images, and at the end all of them", async () => {
    const server = await serve(scripted({ streamTextToImage: paints(2) }));
    const body = { prompt: "a cat", seed: 5, num_images_per_prompt: 2, stream: true };
    const response = await server.post("/text-to-image", body);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const all = await chunks(response);
    expect(all.filter((e) => e.type === "progress")).toEqual(
      [0, 1].flatMap((index) =>
        [1, 2].map((step) => ({
          type: "progress",
          index,
          images: 2,
          step,
          steps: 2,
          percent: 50 * index + 25 * step,
        })),
      ),
    );
    const image = (seed: number) => ({ url: expect.stringMatching(/^http:/), seed, nsfw: false });
    expect(all.filter((e) => e.type === "image")).toEqual([
      { type: "image", index: 0, image: image(5) },
      { type: "image", index: 1, image: image(6) },
    ]);
    expect(all.at(-1)).toEqual({
      type: "done",
      images: [image(5), image(6)],
      warnings: [expect.stringMatching(/safety_check/)],
    });
  });

  test("each of 50 steps is two percent", async () => {
    const server = await serve(scripted({ streamTextToImage: paints(50) }));
    const all = await chunks(
      await server.post("/text-to-image", { prompt: "a cat", stream: true }),
    );
    const told = all.filter((e) => e.type === "progress").map(({ percent }) => percent);
    expect(told).toEqual(Array.from({ length: 50 }, (_, i) => 2 * (i + 1)));
  });

  test("of the percentage the whole part is told, and a place in a queue, also the first", async () => {
    const server = await serve(
      scripted({
        async *streamTextToImage(call) {
          yield [progressEvent({ index: 0, images: 1, step: 0, steps: 3, queuePosition: 0 })];
          yield* paints(3)(call);
        },
      }),
    );
    const all = await chunks(
      await server.post("/text-to-image", { prompt: "a cat", stream: true }),
    );
    const told = all.filter((e) => e.type === "progress");
    expect(told[0]).toMatchObject({ step: 0, queue_position: 0 });
    expect(told.slice(1).map(({ percent }) => percent)).toEqual([33, 66, 100]);
  });

  test("`include_previews` puts a picture into progress where there is one", async () => {
    const backend = scripted({
      async *streamTextToImage(call) {
        for await (const batch of paints(1)(call)) {
          for (const { event } of batch) {
            if (event.case === "progress") event.value.preview = png(1);
          }
          yield batch;
        }
      },
    });
    const server = await serve(backend);
    const body = { prompt: "a cat", stream: true, include_previews: true };
    const [progress] = await chunks(await server.post("/text-to-image", body));
    expect(backend.asked[0]).toMatchObject({ includePreviews: true });
    expect(progress).toMatchObject({
      type: "progress",
      preview: `data:image/png;base64,${png(1).toString("base64")}`,
    });
  });

  test("a failure in mid-stream is an error event, then [DONE]", async () => {
    const server = await serve(
      scripted({
        async *streamTextToImage(call) {
          for await (const batch of paints(2)(call)) {
            yield batch;
            throw new LintelError("upstream_failed", "it broke");
          }
        },
      }),
    );
    const all = await chunks(await server.post("/text-to-image", { prompt: "x", stream: true }));
    expect(all.at(-1)).toEqual({
      type: "error",
      error: { message: "it broke", type: "upstream_error", param: null, code: "upstream_failed" },
      detail: { msg: "it broke" },
    });
  });
});
