/** `POST /v1/images/generations` as a stream. */
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { imageModel } from "../support/models.js";
import { paints, png, scripted } from "../support/scripted.js";
import { json, type Setting, serve } from "./serve.js";

const path = "/v1/images/generations";
const asked = { prompt: "a cat", seed: 7, stream: true };

/** Paints, and shows a picture at each of so many steps. */
const shows = (steps: number): Handle<"streamTextToImage"> =>
  async function* (call) {
    for await (const batch of paints(steps)(call)) {
      for (const { event } of batch) {
        if (event.case === "progress") event.value.preview = png(event.value.step, 4, 2);
      }
      yield batch;
    }
  };

async function stream(handle: Handle<"streamTextToImage">, body: object, setting?: Setting) {
  const backend = scripted({ streamTextToImage: handle });
  const server = await serve(backend, setting);
  const response = await server.post(path, { ...asked, ...body });
  return { backend, response };
}

/** The events, each of which says its type twice. */
async function eventsIn(response: Response) {
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const blocks = (await response.text()).split("\n\n");
  expect(blocks.pop()).toBe("");
  return blocks.map((block) => {
    const [, type, data = ""] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
    const event = JSON.parse(data);
    expect(event.type).toBe(type);
    return event;
  });
}

/** What stands in every event with a picture. */
const picture = (
  seed: number,
  size: string,
  [width = 8, height = 8] = size.split("x").map(Number),
) => ({
  b64_json: png(seed, width, height).toString("base64"),
  created_at: expect.any(Number),
  size,
  background: "auto",
  output_format: "png",
  quality: "auto",
});

const completed = (seed: number, size: string) => ({
  type: "image_generation.completed",
  ...picture(seed, size),
  usage: {
    ...{ input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  },
  ...{ seed, nsfw: false },
});

describe("OpenAI images, streamed", () => {
  test("each image is an event; warnings stand in the last", async () => {
    const { response, backend } = await stream(paints(), { n: 2, size: "64x128", quality: "high" });
    const [first, last, ...rest] = await eventsIn(response);
    expect(rest).toEqual([]);
    expect(first).toEqual(completed(7, "64x128"));
    expect(last).toEqual({
      ...completed(8, "64x128"),
      warnings: ["quality: not supported, ignored", expect.stringMatching(/^safety_check: /)],
    });
    expect(response.headers.get("x-lintel-warnings")).toMatch(/^quality: /);
    expect(first.created_at).toBeGreaterThan(1e9);
    expect(first.created_at).toBeLessThan(1e10);
    expect(backend.asked[0]).toMatchObject({ includePreviews: false, includeData: true });
  });

  test.each([
    [{ partial_images: 0 }, []],
    [{ partial_images: 1 }, [4]],
    [{ partial_images: 2 }, [2, 5]],
    [{ partial_images: 3 }, [2, 4, 6]],
    [{ include_previews: true }, [2, 4, 6]],
    [{ include_previews: false, partial_images: 1 }, [4]],
    [{ include_previews: true, partial_images: null }, [2, 4, 6]],
  ])("partial images are spread over the steps: %j", async (body, steps) => {
    const { response, backend } = await stream(shows(8), body);
    const events = await eventsIn(response);
    expect(events.slice(0, -1)).toEqual(
      steps.map((step, place) => ({
        type: "image_generation.partial_image",
        ...picture(step, "4x2"),
        partial_image_index: place,
      })),
    );
    expect(events.at(-1)).toMatchObject(completed(7, "8x8"));
    expect(backend.asked[0]).toMatchObject({ includePreviews: steps.length > 0 });
  });

  test("each of several images has partial ones of its own", async () => {
    const { response } = await stream(shows(2), { n: 2, partial_images: 1 });
    const events = await eventsIn(response);
    expect(events.map(({ type, partial_image_index: place }) => [type, place])).toEqual([
      ["image_generation.partial_image", 0],
      ["image_generation.completed", undefined],
      ["image_generation.partial_image", 0],
      ["image_generation.completed", undefined],
    ]);
  });

  test("a whole answer has no partial images, and says so", async () => {
    const { response, backend } = await stream(paints(), { stream: false, partial_images: 2 });
    expect((await json(response)).warnings).toContain("partial_images: only in streams, ignored");
    expect(backend.asked[0]).toMatchObject({ includePreviews: false });
  });

  test("a failure between two images comes after the first", async () => {
    const { response } = await stream(
      async function* (call) {
        let left = 4;
        for await (const batch of paints(1)(call)) {
          if (--left === 1) throw new LintelError("upstream_failed", "it broke");
          yield batch;
        }
      },
      { n: 2 },
    );
    expect(await eventsIn(response)).toEqual([
      completed(7, "8x8"),
      {
        type: "error",
        error: {
          ...{ message: "it broke", type: "upstream_error", param: null, code: "upstream_failed" },
        },
      },
    ]);
  });

  test("a failure behind the last image does not lose it", async () => {
    const { response } = await stream(async function* (call) {
      for await (const batch of paints(1)(call)) {
        if (batch[0]?.event.case === "done") throw new LintelError("upstream_failed", "it broke");
        yield batch;
      }
    }, {});
    const events = await eventsIn(response);
    expect(events.map(({ type }) => type)).toEqual(["image_generation.completed", "error"]);
  });

  test("a failure ahead of them has its status", async () => {
    const { response } = await stream(
      // biome-ignore lint/correctness/useYield: it fails before it has something
      async function* () {
        throw new LintelError("upstream_failed", "num_images_per_prompt: too many", {
          param: "num_images_per_prompt",
        });
      },
      { n: 2 },
    );
    expect(response.status).toBe(502);
    expect((await json(response)).error).toMatchObject({ message: "n: too many", param: "n" });
  });

  test.each([
    ["partial_images", { partial_images: 4 }],
    ["partial_images", { partial_images: -1 }],
    ["partial_images", { partial_images: 1.5 }],
    ["partial_images", { partial_images: "2" }],
    ["partial_images", { partial_images: 4, stream: false }],
    ["partial_images", { include_previews: true, partial_images: 0 }],
    ["include_previews", { include_previews: "x" }],
    ["include_previews", { include_previews: "x", stream: false }],
    ["response_format", { response_format: "url" }],
    ["response_format", { response_format: "png" }],
    ["stream", { stream: "x" }],
    ["stream", { stream: 1 }],
  ])("422 by %s: %j", async (param, body) => {
    const { response } = await stream(paints(), body);
    expect(response.status).toBe(422);
    expect((await json(response)).error.param).toBe(param);
  });

  test("a model that makes no previews says so", async () => {
    const backend = scripted({ streamTextToImage: paints() }, [
      imageModel("image-1", { supports: ["seed"] }),
    ]);
    const response = await (await serve(backend)).post(path, { ...asked, partial_images: 1 });
    const [only, ...rest] = await eventsIn(response);
    expect(rest).toEqual([]);
    expect(only.warnings.join()).toMatch(/partial_images: not supported/);
  });

  test("what is said of both sides of an image is said of its size, once", async () => {
    const isOfSize = (text: string) => text.endsWith(": cut");
    const { response } = await stream(async function* (call) {
      call.warnings.add("width: cut");
      call.warnings.add("height: cut");
      yield* paints()(call);
    }, {});
    const [only] = await eventsIn(response);
    expect(only.warnings.filter(isOfSize)).toEqual(["size: cut"]);
    const whole = await stream(
      async function* (call) {
        for await (const batch of paints()(call)) {
          for (const { event } of batch) {
            if (event.case === "done") event.value.warnings = ["width: cut", "height: cut"];
          }
          yield batch;
        }
      },
      { stream: false },
    );
    expect((await json(whole.response)).warnings.filter(isOfSize)).toEqual(["size: cut"]);
  });
});
