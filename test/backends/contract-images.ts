/** What the contract suite asks of images. */
import { PNG } from "pngjs";
import { expect, it } from "vitest";
import type { Media, StreamTextToImageResponse } from "../../gen/lintel/v1/image_pb.js";
import type { Bench } from "./contract.js";

/** Largest seed and one: seeds count modulo this. */
const seeds = 2 ** 32;

interface Size {
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

/** Checks of the whole form. */
export function imagesContract(bench: Bench<"textToImage">): void {
  it("answers with PNG images inline, of the size that was asked for", async () => {
    const request = { ...bench.subject().request("textToImage"), numImagesPerPrompt: 2 };
    const [response] = (await bench.run(request)).flat();
    expect(response?.images).toHaveLength(2);
    for (const image of response?.images ?? []) expectPng(image, request);
  });

  bench.check("seeds", "uses seed + i for image i, and the same seed again", async () => {
    const request = {
      ...bench.subject().request("textToImage"),
      numImagesPerPrompt: 2,
      seed: BigInt(seeds - 1),
    };
    const [both] = (await bench.run(request)).flat();
    expect(both?.images.map((image) => image.seed)).toEqual([seeds - 1, 0]);
    const [second] = (await bench.run({ ...request, numImagesPerPrompt: 1, seed: 0n })).flat();
    expect(second?.images[0]?.seed).toBe(0);
    expect(pixels(second?.images[0])).toEqual(pixels(both?.images[1]));
    expect(pixels(both?.images[0])).not.toEqual(pixels(both?.images[1]));
  });

  bench.check("seeds", "takes a seed of its own where none is given", async () => {
    const request = { ...bench.subject().request("textToImage"), seed: undefined };
    const [first] = (await bench.run(request)).flat();
    const seed = first?.images[0]?.seed ?? -1;
    expect(seed).toBeGreaterThanOrEqual(0);
    const [again] = (await bench.run({ ...request, seed: BigInt(seed) })).flat();
    expect(pixels(again?.images[0])).toEqual(pixels(first?.images[0]));
  });
}

/** Checks of the streamed form. */
export function streamedImagesContract(bench: Bench<"streamTextToImage">): void {
  it("tells progress in order, then the images, then that it is done", async () => {
    const request = {
      ...bench.subject().request("streamTextToImage"),
      numInferenceSteps: 3,
      numImagesPerPrompt: 2,
    };
    const events = (await bench.run(request)).flat().map((message) => message.event);
    expect(events.at(-1)?.case).toBe("done");
    expect(events.filter((event) => event.case === "done")).toHaveLength(1);
    for (const index of [0, 1]) {
      const steps = progressOf(events, index);
      expect(steps.length).toBeGreaterThan(0);
      expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b));
      expect(steps.at(-1)).toBeLessThanOrEqual(3);
    }
    const images = events.flatMap((event) => (event.case === "image" ? [event.value] : []));
    expect(images.map((image) => image.index).sort()).toEqual([0, 1]);
    for (const image of images) expectPng(image.media, request);
    for (const { index } of images) {
      const ready = events.findIndex((e) => e.case === "image" && e.value.index === index);
      const late = events
        .slice(ready)
        .some((e) => e.case === "progress" && e.value.index === index);
      expect(late).toBe(false);
    }
    for (const event of events) {
      if (event.case !== "progress") continue;
      expect(event.value).toMatchObject({ images: 2, steps: 3 });
    }
  });

  bench.check("seeds", "streams image i with seed + i, and the same seed again", async () => {
    const request = {
      ...bench.subject().request("streamTextToImage"),
      numImagesPerPrompt: 2,
      seed: BigInt(seeds - 1),
    };
    const both = imagesOf(await bench.run(request));
    expect(both.map((image) => image.seed)).toEqual([seeds - 1, 0]);
    const [second] = imagesOf(await bench.run({ ...request, numImagesPerPrompt: 1, seed: 0n }));
    expect(pixels(second)).toEqual(pixels(both[1]));
    expect(pixels(both[0])).not.toEqual(pixels(both[1]));
  });

  it("hands on the picture that the model server made, pixel by pixel", async (context) => {
    const { picture, request } = bench.subject();
    if (!picture) return context.skip("nobody knows what the model will make");
    const asked = { ...request("streamTextToImage"), numImagesPerPrompt: 2 };
    const images = imagesOf(await bench.run(asked));
    expect(images).toHaveLength(2);
    for (const image of images) {
      const made = decode(picture(asked, image.seed));
      expect(pixels(image).equals(made.data)).toBe(true);
    }
  });

  it("sends no previews that nobody asked for", async () => {
    const request = { ...bench.subject().request("streamTextToImage"), includePreviews: false };
    for (const { event } of (await bench.run(request)).flat()) {
      if (event.case === "progress") expect(event.value.preview).toHaveLength(0);
    }
  });

  bench.check("previews", "sends previews as PNG", async () => {
    const request = { ...bench.subject().request("streamTextToImage"), includePreviews: true };
    const previews = (await bench.run(request))
      .flat()
      .flatMap(({ event }) => (event.case === "progress" ? [event.value.preview] : []))
      .filter((preview) => preview.length > 0);
    expect(previews.length).toBeGreaterThan(0);
    for (const preview of previews) expect(decode(preview).width).toBeGreaterThan(0);
  });
}

/** The images of a stream, by their position. */
function imagesOf(steps: readonly (readonly StreamTextToImageResponse[])[]): Media[] {
  const images: Media[] = [];
  for (const { event } of steps.flat()) {
    if (event.case === "image" && event.value.media) images[event.value.index] = event.value.media;
  }
  return images;
}

function progressOf(events: readonly StreamTextToImageResponse["event"][], index: number) {
  return events.flatMap((event) =>
    event.case === "progress" && event.value.index === index ? [event.value.step] : [],
  );
}

function expectPng(media: Media | undefined, size: Size): void {
  expect(media?.mimeType).toBe("image/png");
  const { width, height } = decode(media?.data ?? new Uint8Array());
  expect({ width, height }).toEqual({ width: size.width, height: size.height });
}

function pixels(media: Media | undefined): Buffer {
  return decode(media?.data ?? new Uint8Array()).data;
}

function decode(data: Uint8Array): PNG {
  return PNG.sync.read(Buffer.from(data));
}
