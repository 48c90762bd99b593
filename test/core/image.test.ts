import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { doneEvent, imageEvent, inlineImage, progressEvent } from "../../src/core/image-events.js";
import type { MediaStore } from "../../src/core/media.js";
import { coreOf, run } from "../support/core.js";
import { stateOf } from "../support/routing.js";
import { paints, png, scripted } from "../support/scripted.js";
import { failure, painter } from "./painter.js";

it.each([1, 2 ** 31 - 1, -1])(
  "an image in place %i, for which nobody asked, is a failure of the model server",
  async (index) => {
    const backend = scripted({
      async *streamTextToImage() {
        yield [imageEvent(index, inlineImage(png(1), 1, {})), doneEvent([])];
      },
    });
    for (const method of ["textToImage", "streamTextToImage"] as const) {
      await expect(run(coreOf([backend]), method, { prompt: "a cat" })).rejects.toEqual(
        failure("upstream_failed"),
      );
    }
  },
);

it("all images without an end are a failure of the model server", async () => {
  const backend = scripted({
    async *streamTextToImage() {
      yield [imageEvent(0, inlineImage(png(1), 1, {}))];
    },
  });
  for (const method of ["textToImage", "streamTextToImage"] as const) {
    await expect(run(coreOf([backend]), method, { prompt: "a cat" })).rejects.toEqual(
      failure("upstream_failed"),
    );
  }
});

it("the same place twice is not all images", async () => {
  const backend = scripted({
    async *streamTextToImage() {
      yield [1, 2].map((seed) => imageEvent(0, inlineImage(png(seed), seed, {})));
      yield [doneEvent([])];
    },
  });
  const asked = run(coreOf([backend]), "textToImage", { prompt: "a cat", numImagesPerPrompt: 2 });
  await expect(asked).rejects.toEqual(failure("upstream_failed"));
});

describe("images", () => {
  const store = (): MediaStore & { kept: Map<string, Uint8Array> } => {
    const kept = new Map<string, Uint8Array>();
    return {
      kept,
      put: async (data) => {
        kept.set(`${kept.size}.png`, data);
        return `http://media.test/${kept.size - 1}.png`;
      },
      get: async () => undefined,
      delete: async () => {},
      close: async () => {},
    };
  };
  it("are stored and answered by URL; inline only where asked for", async () => {
    const media = store();
    const [answer] = await run(coreOf([painter()], {}, { media }), "textToImage", {
      prompt: "a",
      seed: 3n,
    });
    expect(answer?.images[0]).toMatchObject({
      url: "http://media.test/0.png",
      seed: 3,
      mimeType: "image/png",
    });
    expect(answer?.images[0]?.data.length).toBe(0);
    expect(PNG.sync.read(Buffer.from(media.kept.get("0.png") ?? [])).width).toBe(8);
    const [inline] = await run(coreOf([painter()], {}, { media }), "textToImage", {
      prompt: "a",
      includeData: true,
    });
    expect(inline?.images[0]?.data.length).toBeGreaterThan(0);
  });
  it("that are broken are held against who made them", async () => {
    const sanitize = () => {
      throw new LintelError("upstream_failed", "the model server made a broken image");
    };
    const core = coreOf([painter()], {}, { sanitize });
    await expect(run(core, "textToImage", { prompt: "a" })).rejects.toEqual(
      failure("upstream_failed"),
    );
    expect(stateOf(core, "scripted", "image-1")).toMatchObject({ inFlight: 0, failures: 1 });
  });
  it("are sanitized before anyone sees them", async () => {
    const sanitize = () => Buffer.from("clean");
    const [answer] = await run(coreOf([painter()], {}, { sanitize }), "textToImage", {
      prompt: "a",
    });
    expect(Buffer.from(answer?.images[0]?.data ?? []).toString()).toBe("clean");
  });
  it("one of several that fails, or is missing, fails the whole request", async () => {
    const backend = scripted({
      async *streamTextToImage(call) {
        for await (const batch of paints(1)({
          ...call,
          request: { ...call.request, numImagesPerPrompt: 1 },
        })) {
          yield batch;
        }
      },
    });
    await expect(
      run(coreOf([backend]), "textToImage", { prompt: "a", numImagesPerPrompt: 2 }),
    ).rejects.toEqual(failure("upstream_failed"));
  });
  it("the stream tells progress over the whole request, then each image, then done", async () => {
    const events = await run(coreOf([painter()]), "streamTextToImage", {
      prompt: "a|b",
      numImagesPerPrompt: 1,
      seed: 1n,
    });
    expect(
      events.map(({ event: e }) =>
        e.case === "progress"
          ? `${e.value.index}/${e.value.images} ${e.value.step}/${e.value.steps}`
          : e.case === "image"
            ? `image ${e.value.index}`
            : e.case,
      ),
    ).toEqual(["0/2 1/2", "0/2 2/2", "image 0", "1/2 1/2", "1/2 2/2", "image 1", "done"]);
  });
  it("progress stays within the steps and the images that there are, and its percentage never goes back, whatever a server says", async () => {
    const said = [
      { index: 0, images: 1, step: 12, steps: 4 },
      { index: 7, images: 9, step: 2, steps: 4 },
      { index: 0, images: 1, step: 5, steps: 0 },
    ];
    const backend = scripted({
      async *streamTextToImage(call) {
        yield said.map(progressEvent);
        yield* paints(0)(call);
      },
    });
    const events = await run(coreOf([backend]), "streamTextToImage", { prompt: "a|b" });
    const told = events.flatMap(({ event: e }) => (e.case === "progress" ? [e.value] : []));
    expect(told.map(({ index, step, steps, percent }) => [index, step, steps, percent])).toEqual([
      ...[
        [0, 4, 4, 50],
        [0, 2, 4, 50],
        [0, 0, 0, 50],
      ],
      ...[
        [1, 4, 4, 100],
        [1, 2, 4, 100],
        [1, 0, 0, 100],
      ],
    ]);
  });
  it("a backend that only has the unary form serves the streamed one", async () => {
    const backend = scripted({
      async *textToImage() {
        const media = {
          $typeName: "lintel.v1.Media" as const,
          url: "",
          seed: 0,
          nsfw: false,
          data: png(1),
          mimeType: "image/png",
        };
        yield [
          { $typeName: "lintel.v1.TextToImageResponse" as const, images: [media], warnings: ["w"] },
        ];
      },
    });
    const events = await run(coreOf([backend]), "streamTextToImage", {
      prompt: "a",
      safetyCheck: false,
    });
    expect(events.map((e) => e.event.case)).toEqual(["image", "done"]);
    expect(events[1]).toEqual(doneEvent(["w"]));
  });
});
