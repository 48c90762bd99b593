/**
 * What each request field does, seen in the pictures of the embedded model.
 * Its weights are trained anew from time to time: nothing here depends on them
 * beyond what the model is for.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PNG } from "pngjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readOnnx } from "../../src/backends/onnx/file/onnx.js";
import { modulesOf } from "../../src/backends/onnx/lora/modules.js";
import { Pipeline } from "../../src/backends/onnx/pipeline.js";
import type { ImageEvent, ImageJob } from "../../src/backends/onnx/protocol.js";
import { loadRuntime, type Runtime } from "../../src/backends/onnx/runtime.js";
import { loraOf, writeSafetensors } from "./onnx/lora-file.js";
import { jobOf } from "./onnx/support.js";

const folder = fileURLToPath(new URL("../../models/image/lintel-image", import.meta.url));

/** Colours that the model was taught, some of them. */
const palette = {
  red: [222, 38, 40],
  green: [38, 160, 70],
  blue: [40, 88, 222],
  yellow: [250, 216, 48],
  purple: [128, 56, 182],
  pink: [250, 150, 192],
  black: [24, 24, 26],
  white: [250, 250, 250],
} as const;
type Colour = keyof typeof palette;

/** Batch sizes of the UNet's runs since they were last looked at. */
let batches: number[] = [];
let pipeline: Pipeline;
let scratch: string;
beforeAll(async () => {
  const runtime = await loadRuntime();
  const create: typeof runtime.InferenceSession.create = async (...args: unknown[]) => {
    // biome-ignore lint/suspicious/noExplicitAny: handed on as it came
    const session = await (runtime.InferenceSession.create as any)(...args);
    const run = session.run.bind(session);
    session.run = (feeds: Record<string, { dims: readonly number[] }>, ...rest: unknown[]) => {
      if (feeds.sample) batches.push(feeds.sample.dims[0] ?? 0);
      return run(feeds, ...rest);
    };
    return session;
  };
  const counting = { ...runtime, InferenceSession: { create } as Runtime["InferenceSession"] };
  pipeline = await Pipeline.load(counting, { folder, threads: 1 });
  scratch = await mkdtemp(join(tmpdir(), "lintel-pictures-"));
});
afterAll(async () => {
  await pipeline.close();
  await rm(scratch, { recursive: true });
});

const scene = "a red circle on a blue background";

async function eventsOf(changes: Partial<ImageJob>): Promise<ImageEvent[]> {
  const events: ImageEvent[] = [];
  const job = jobOf({ prompt: scene, width: 512, height: 288, steps: 8, seed: 5, ...changes });
  batches = [];
  await pipeline.run(
    job,
    (event) => events.push(event),
    () => {},
  );
  return events;
}

/** The PNG files of a job. */
async function filesOf(changes: Partial<ImageJob> = {}): Promise<Buffer[]> {
  const events = await eventsOf(changes);
  return events.flatMap((event) => (event.type === "image" ? [Buffer.from(event.data)] : []));
}

async function pictureOf(changes: Partial<ImageJob> = {}): Promise<PNG> {
  const [file] = await filesOf(changes);
  return PNG.sync.read(file ?? Buffer.alloc(0));
}

/** Which colour of the palette is nearest. */
function nameOf(data: Uint8Array, at: number): Colour {
  const distance = (colour: Colour) =>
    palette[colour].reduce((sum, value, c) => sum + (value - (data[at + c] ?? 0)) ** 2, 0);
  return (Object.keys(palette) as Colour[]).reduce((a, b) => (distance(b) < distance(a) ? b : a));
}

/** Shares of the palette's colours in a picture: of all of it, and along its edge. */
function coloursOf({ data, width, height }: PNG) {
  const count = () => new Map<Colour, number>();
  const [all, edge] = [count(), count()];
  let onEdge = 0;
  let whole = 0;
  for (let y = 0; y < height; y += 2) {
    for (let x = 0; x < width; x += 2) {
      const name = nameOf(data, (y * width + x) * 4);
      all.set(name, (all.get(name) ?? 0) + 1);
      whole++;
      if (x > 8 && y > 8 && x < width - 10 && y < height - 10) continue;
      edge.set(name, (edge.get(name) ?? 0) + 1);
      onEdge++;
    }
  }
  return {
    share: (colour: Colour) => (all.get(colour) ?? 0) / whole,
    edge: (colour: Colour) => (edge.get(colour) ?? 0) / onEdge,
  };
}

/** Mean difference of two pictures, of 255. */
function apart(a: PNG, b: PNG): number {
  let sum = 0;
  a.data.forEach((value, i) => {
    sum += Math.abs(value - (b.data[i] ?? 0));
  });
  return sum / a.data.length;
}

describe("prompt", () => {
  it("says which colours there are, and where", async () => {
    const asked: [Colour, string, Colour][] = [
      ["red", "circle", "blue"],
      ["yellow", "square", "green"],
      ["white", "circle", "purple"],
      ["blue", "triangle", "white"],
      ["green", "square", "pink"],
      ["black", "circle", "yellow"],
    ];
    const wrong: string[] = [];
    for (const [i, [colour, shape, ground]] of asked.entries()) {
      const prompt = `a ${colour} ${shape} on a ${ground} background`;
      const found = coloursOf(await pictureOf({ prompt, steps: 20, seed: i }));
      if (found.edge(ground) < 0.8 || found.share(colour) < 0.015) wrong.push(prompt);
    }
    // One may fail: that nine in ten succeed is for the evaluation to show.
    expect(wrong.length, wrong.join("; ")).toBeLessThanOrEqual(1);
  });
});

describe("negative_prompt", () => {
  it("changes the picture, away from what it says", async () => {
    const plain = await pictureOf();
    const away = await pictureOf({ negativePrompt: "a blue background" });
    expect(apart(plain, away)).toBeGreaterThan(1);
    expect(apart(plain, await pictureOf({ negativePrompt: "" }))).toBe(0);
    const like = (picture: PNG) => coloursOf(picture).edge("blue");
    expect(like(away)).toBeLessThanOrEqual(like(plain));
  });
});

describe("guidance_scale", () => {
  it("makes each step one run of two halves, or of one from 1 down", async () => {
    await eventsOf({ guidanceScale: 7.5, steps: 3 });
    expect(batches).toEqual([2, 2, 2]);
    for (const guidanceScale of [1, 0.5, 0]) {
      await eventsOf({ guidanceScale, steps: 3, negativePrompt: "a circle" });
      expect(batches).toEqual([1, 1, 1]);
    }
  });

  it("changes the picture above 1, and not below", async () => {
    const [weak, strong, one, none] = [
      await pictureOf({ guidanceScale: 2 }),
      await pictureOf({ guidanceScale: 9 }),
      await pictureOf({ guidanceScale: 1 }),
      await pictureOf({ guidanceScale: 0, negativePrompt: "a circle" }),
    ];
    expect(apart(weak, strong)).toBeGreaterThan(0.5);
    expect(apart(one, none)).toBe(0);
  });
});

describe("num_inference_steps", () => {
  it.each([1, 7, 50])("is how often the model runs, and is told: %i", async (steps) => {
    const events = await eventsOf({ steps, width: 64, height: 64 });
    const told = events.flatMap((event) => (event.type === "progress" ? [event.step] : []));
    expect(told).toEqual(Array.from({ length: steps }, (_, i) => i + 1));
    expect(batches).toHaveLength(steps);
  });

  it("changes the picture", async () => {
    expect(apart(await pictureOf({ steps: 2 }), await pictureOf({ steps: 20 }))).toBeGreaterThan(
      0.5,
    );
  });
});

describe("seed", () => {
  it("gives the same bytes again, and another picture for another seed", async () => {
    const [first] = await filesOf();
    const [again] = await filesOf();
    const [other] = await filesOf({ seed: 6 });
    expect(first && again && first.equals(again)).toBe(true);
    expect(first && other && first.equals(other)).toBe(false);
  });
});

describe("width and height", () => {
  it.each([
    [64, 64],
    [1024, 576],
    [2048, 64],
    [72, 1000],
  ])("are those of the picture: %i x %i", async (width, height) => {
    const picture = await pictureOf({ width, height, steps: 2 });
    expect([picture.width, picture.height]).toEqual([width, height]);
    const found = coloursOf(await pictureOf({ width, height, steps: 2 }));
    expect(found.share("blue") + found.share("purple") + found.share("red")).toBeGreaterThan(0.3);
  });
});

describe("num_images_per_prompt", () => {
  it("makes as many, each as it would be by its own seed", async () => {
    const three = await filesOf({ images: 3, seed: 2 ** 32 - 2, width: 128, height: 72 });
    expect(three).toHaveLength(3);
    for (const [i, seed] of [2 ** 32 - 2, 2 ** 32 - 1, 0].entries()) {
      const [alone] = await filesOf({ seed, width: 128, height: 72 });
      expect(alone && three[i]?.equals(alone)).toBe(true);
    }
  });
});

describe("loras", () => {
  const use = async (path: string, weight: number) => {
    const [file] = await filesOf({ loras: [{ id: "style", path, weight }] });
    return PNG.sync.read(file ?? Buffer.alloc(0));
  };

  const check = async (path: string) => {
    const plain = await pictureOf();
    expect(apart(plain, await use(path, 0))).toBe(0);
    const [half, whole] = [await use(path, 0.5), await use(path, 1)];
    expect(apart(plain, whole)).toBeGreaterThan(0.2);
    expect(apart(half, whole)).toBeGreaterThan(0.1);
    expect(apart(plain, await pictureOf())).toBe(0);
  };

  it("change the picture by their weight, convolutions and linear layers alike", async () => {
    const modules = [...modulesOf(readOnnx(folder, "unet/model.onnx"))];
    const tensors = Object.assign(
      {},
      ...[2, 4].flatMap((dimensions) => {
        const of = modules.filter(([, module]) => module.weight.dims.length === dimensions);
        expect(of.length).toBeGreaterThan(3);
        return of.slice(0, 4).map(([name, { weight, transposed }]) => {
          const dims = transposed ? weight.dims.toReversed() : weight.dims;
          return loraOf(`unet.${name}`, dims);
        });
      }),
    );
    const path = join(scratch, "style.safetensors");
    await writeSafetensors(path, tensors);
    await check(path);
  });

  it("come with the model: one of pastel colours", async () => {
    const path = join(folder, "loras/pastel.safetensors");
    await check(path);
    const paleness = ({ data }: PNG) => data.reduce((sum, value) => sum + value, 0) / data.length;
    const [plain, pastel] = [await pictureOf(), await use(path, 1)];
    // Half of the way to white, as the scenes that it was trained on.
    const share = (255 - paleness(pastel)) / (255 - paleness(plain));
    expect(share).toBeGreaterThan(0.3);
    expect(share).toBeLessThan(0.75);
  });
});

describe("include_previews", () => {
  it("shows the colour of the background in the end", async () => {
    const events = await eventsOf({ previews: true });
    const shown = events.flatMap((event) => (event.type === "progress" ? [event.preview] : []));
    expect(shown.every((preview) => preview && preview.length < 20_000)).toBe(true);
    const preview = PNG.sync.read(Buffer.from(shown.at(-1) ?? []));
    expect(preview.width / preview.height).toBeCloseTo(512 / 288, 1);
    const [red = 0, green = 0, blue = 0] = preview.data;
    expect(blue).toBeGreaterThan(Math.max(red, green));
  });
});
