/** The parts of the image pipeline that run no model. */
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PNG } from "pngjs";
import { describe, expect, it, onTestFinished } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import type { ModelFolder } from "../../src/backends/onnx/folder.js";
import type { Runnable } from "../../src/backends/onnx/graph.js";
import { noiseOf, philox } from "../../src/backends/onnx/noise.js";
import { encodePng } from "../../src/backends/onnx/png.js";
import { enginePackages } from "../../src/backends/onnx/protocol.js";
import { installHint, loadRuntime } from "../../src/backends/onnx/runtime.js";
import { readProcessor } from "../../src/backends/onnx/safety/checker.js";
import { guided } from "../../src/backends/onnx/unet.js";
import { latentSize } from "../../src/backends/onnx/vae.js";

describe("noise", () => {
  // The known answers that come with the Random123 library.
  it.each([
    [
      "00000000 00000000 00000000 00000000",
      "00000000 00000000",
      "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    ],
    [
      "ffffffff ffffffff ffffffff ffffffff",
      "ffffffff ffffffff",
      "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ],
    [
      "243f6a88 85a308d3 13198a2e 03707344",
      "a4093822 299f31d0",
      "d16cfe09 94fdcceb 5001e420 24126ea1",
    ],
  ])("Philox turns %s with key %s into %s", (counter, key, answer) => {
    const words = (text: string) => text.split(" ").map((word) => Number.parseInt(word, 16));
    const state = Uint32Array.from(words(counter));
    const [k0 = 0, k1 = 0] = words(key);
    philox(state, k0, k1);
    expect([...state]).toEqual(words(answer));
  });

  it("is what PyTorch draws on a CUDA device with the same seed", () => {
    const out = new Float32Array(12);
    noiseOf(0)(out);
    const known = [
      -0.92466259, -0.42534415, -2.6438457, 0.14518388, -0.12086647, -0.57972564, -0.62285122,
      -0.32838709, -1.07454231, -0.36314407, -1.67105067, 2.26550497,
    ];
    known.forEach((value, i) => {
      expect(out[i]).toBeCloseTo(value, 5);
    });
  });

  // Drawn by torch 2.11 on an H100: torch.randn(1, 4, 256, 256, generator=…, device="cuda"), twice.
  it.each([
    [1, [-0.304847002, 1.045333385], [0.011162829, 0.501484275], 108.68754],
    [2, [-1.287011623, -0.395832777], [-0.826054335, -1.528588176], -357.510593],
  ])("is what a card drew with seed 7 in draw %i, up to its end", (draws, first, last, sum) => {
    const noise = noiseOf(7);
    const out = new Float32Array(4 * 256 * 256);
    for (let i = 0; i < draws; i++) noise(out);
    for (const [i, value] of first.entries()) expect(out[i]).toBeCloseTo(value, 5);
    for (const [i, value] of last.entries()) expect(out.at(i - 2)).toBeCloseTo(value, 5);
    // The card's sines are of single precision.
    expect(out.reduce((all, value) => all + value, 0)).toBeCloseTo(sum, 1);
  });

  it("is normal, depends on the seed alone, and differs from draw to draw", () => {
    const draw = (seed: number, draws = 1) => {
      const noise = noiseOf(seed);
      const out = new Float32Array(20_000);
      for (let i = 0; i < draws; i++) noise(out);
      return out;
    };
    const numbers = draw(2 ** 32 - 1);
    const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
    const variance = numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / numbers.length;
    const beyond2 = numbers.filter((x) => Math.abs(x) > 2).length / numbers.length;
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(variance - 1)).toBeLessThan(0.05);
    expect(beyond2).toBeGreaterThan(0.04);
    expect(beyond2).toBeLessThan(0.051);
    expect(draw(2 ** 32 - 1)).toEqual(numbers);
    expect(draw(0)).not.toEqual(numbers);
    expect(draw(2 ** 32 - 1, 2)).not.toEqual(numbers);
  });
});

describe("PNG", () => {
  const noise = (width: number, height: number) => new Uint8Array(randomBytes(width * height * 3));
  const slope = (width: number, height: number) =>
    Uint8Array.from({ length: width * height * 3 }, (_, i) => (i % (width * 3)) + (i >> 8));

  it.each([
    ["noise", 33, 17, noise],
    ["a slope", 200, 100, slope],
    ["one pixel", 1, 1, noise],
    ["one column", 1, 50, slope],
  ])("keeps every pixel of %s", async (_, width, height, picture) => {
    const rgb = picture(width, height);
    const png = PNG.sync.read(Buffer.from(await encodePng(rgb, width, height)));
    expect([png.width, png.height]).toEqual([width, height]);
    const pixels = png.data.filter((_byte, i) => i % 4 !== 3);
    expect(Buffer.compare(pixels, rgb)).toBe(0);
  });

  it("holds nothing but the picture", async () => {
    const png = Buffer.from(await encodePng(noise(8, 8), 8, 8));
    const chunks: string[] = [];
    for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
      chunks.push(png.toString("latin1", at + 4, at + 8));
    }
    expect(chunks).toEqual(["IHDR", "IDAT", "IEND"]);
  });
});

describe("how the safety checker is shown a picture", () => {
  it("is CLIP's own way where nothing is said, and never with more than there is", async () => {
    const folder = await mkdtemp(join(tmpdir(), "lintel-parts-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const usual = { size: 224, crop_size: { width: 224, height: 224 }, rescale_factor: 1 / 255 };
    expect(await readProcessor(folder)).toMatchObject(usual);
    await mkdir(join(folder, "feature_extractor"));
    const say = (json: object) =>
      writeFile(join(folder, "feature_extractor/preprocessor_config.json"), JSON.stringify(json));
    await say({ size: { shortest_edge: 32 }, crop_size: 30 });
    const said = { size: 32, crop_size: { width: 30, height: 30 } };
    expect(await readProcessor(folder)).toMatchObject(said);
    await say({ size: 32, crop_size: { width: 32, height: 33 } });
    await expect(readProcessor(folder)).rejects.toThrow("crop_size: must not be larger than size");
  });
});

describe("latents", () => {
  const vae = { latent_channels: 4, block_out_channels: [1, 1, 1, 1], scaling_factor: 1 };
  const folder = (unet: ModelFolder["unet"]) => ({ unet, vae }) as ModelFolder;
  const size = { width: 72, height: 60 };

  it("cover the picture", () => {
    const wanted = { channels: 4, width: 9, height: 8 };
    expect(latentSize(folder({ in_channels: 4 }), size)).toEqual(wanted);
  });

  it("halve evenly at every level of an exported UNet", () => {
    const down_block_types = ["a", "b", "c", "d"];
    const wanted = { channels: 4, width: 16, height: 8 };
    expect(latentSize(folder({ in_channels: 4, down_block_types }), size)).toEqual(wanted);
  });
});

describe("guidance", () => {
  const size = { channels: 1, height: 1, width: 2 };
  const prompt = { states: Float32Array.of(5), tokens: 1, width: 1, cut: false };
  const negative = { ...prompt, states: Float32Array.of(3) };
  const wanted = { prompt, negative, guidanceScale: 2, width: 8, height: 8 };

  /** A UNet that says sample + text + timestep, and notes the size of each batch. */
  function unet(shape: (string | number)[]): Runnable & { seen: unknown[] } {
    const seen: unknown[] = [];
    return {
      seen,
      has: () => false,
      input: (name) =>
        name === "sample"
          ? { type: "float32", shape: ["batch", 1, "h", "w"] }
          : { type: "int64", shape },
      async run({ sample, timestep, encoder_hidden_states: text }) {
        seen.push([sample?.[1], timestep]);
        const data = Float32Array.from(
          sample?.[0] ?? [],
          (x, i) => x + (text?.[0][i >> 1] ?? 0) + (timestep?.[0][0] ?? 0),
        );
        return { data, dims: sample?.[1] ?? [] };
      },
    };
  }

  it("runs both halves at once, the negative one first", async () => {
    const graph = unet(["steps"]);
    const model = guided(graph, size, wanted);
    model.input.set([10, 20]);
    expect([...(await model.predict(100))]).toEqual([117, 127]);
    expect(graph.seen).toEqual([
      [
        [2, 1, 1, 2],
        [[100], [1]],
      ],
    ]);
  });

  it("runs one half without a negative prompt", async () => {
    const graph = unet([]);
    const model = guided(graph, size, { ...wanted, negative: undefined, guidanceScale: 1 });
    model.input.set([10, 20]);
    expect([...(await model.predict(100))]).toEqual([115, 125]);
    expect(graph.seen).toEqual([
      [
        [1, 1, 1, 2],
        [[100], []],
      ],
    ]);
  });

  it("tells the timestep once a sample where the model has one for each", async () => {
    const graph = unet(["batch"]);
    await guided(graph, size, wanted).predict(7);
    expect(graph.seen).toEqual([
      [
        [2, 1, 1, 2],
        [[7, 7], [2]],
      ],
    ]);
  });
});

describe("the engine's packages", () => {
  const absent = (name: string) =>
    Object.assign(new Error(`Cannot find package '${name}' imported from /srv/x/runtime.js`), {
      code: "ERR_MODULE_NOT_FOUND",
    });

  it.each(Object.values(enginePackages))(
    "says what to install when there is no %s",
    async (gone) => {
      const load = async (name: string) => {
        if (name === gone) throw absent(name);
        return { env: {} };
      };
      await expect(loadRuntime(enginePackages, load)).rejects.toThrow(installHint);
      const optional: Readonly<Record<string, string>> = manifest.optionalDependencies;
      expect(`${installHint} `).toContain(` ${gone}@${optional[gone]} `);
      // npm 12 refuses what it does not know.
      expect(installHint).not.toContain(" --");
    },
  );

  it("does not advise to install what is there and broken", async () => {
    const load = async () => {
      throw Object.assign(new Error("/usr/lib/x/libonnxruntime.so.1: cannot open shared object"), {
        code: "ERR_DLOPEN_FAILED",
      });
    };
    const error = await loadRuntime(enginePackages, load).catch((reason: Error) => reason);
    expect((error as Error).message).toMatch(/^onnxruntime-node does not run on .*cannot open/);
    expect((error as Error).message).not.toMatch(/usr|install/);
  });
});
