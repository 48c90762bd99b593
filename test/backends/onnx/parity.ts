/** The tiny models that diffusers made, and what it made with them. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { InferenceSession } from "onnxruntime-node";
import type { Gpu } from "../../../src/backends/gpu.js";
import { noiseOf } from "../../../src/backends/onnx/noise.js";
import { Pipeline } from "../../../src/backends/onnx/pipeline.js";
import type { Runtime } from "../../../src/backends/onnx/runtime.js";

const root = fileURLToPath(new URL("parity/", import.meta.url));

/** A layout that there is a tiny model of. */
export type Layout = "sd15" | "sdxl" | "turbo" | "lcm";

/** One comparison. */
export interface ParityCase {
  readonly name: string;
  readonly layout: Layout;
  /** What stands in `scheduler_config.json`; null: what the model came with. */
  readonly config: object | null;
  readonly steps: number;
  readonly guidance: number;
  readonly prompt: string;
  readonly negative: string;
  readonly seed: number;
  readonly width: number;
  readonly height: number;
  readonly loras: Readonly<Record<string, number>>;
  /** Numbers in its latents. */
  readonly numbers: number;
}

/** A picture that the safety checker looked at. */
export interface CheckedPicture {
  readonly width: number;
  readonly height: number;
  readonly nsfw: boolean;
  /** Every 97th number of what the checker is shown. */
  readonly pixels: readonly number[];
}

const json = JSON.parse(readFileSync(join(root, "expected.json"), "utf8"));
const unpacked = (name: string) => {
  const bytes = gunzipSync(readFileSync(join(root, name)));
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
};
const latents = new Float32Array(unpacked("expected.f32.gz"));
const pictures = new Uint8Array(unpacked("expected.rgb.gz"));

/** What the safety checker said. */
export const checkedPictures: readonly CheckedPicture[] = json.safety;

/** What diffusers made of a case. */
interface Drawn {
  readonly latents: Float32Array;
  readonly rgb: Uint8Array;
}

/** The cases, each with what diffusers gave. */
export const parityCases: readonly (ParityCase & Drawn)[] = (() => {
  let at = 0;
  let pixel = 0;
  return (json.cases as ParityCase[]).map((wanted) => {
    const bytes = wanted.width * wanted.height * 3;
    const found = {
      ...wanted,
      latents: latents.subarray(at, at + wanted.numbers),
      rgb: pictures.subarray(pixel, pixel + bytes),
    };
    at += wanted.numbers;
    pixel += bytes;
    return found;
  });
})();

/** Parts that a model shares with `sd15`, stored there. */
const shared: Readonly<Partial<Record<Layout, readonly string[]>>> = {
  turbo: ["vae_decoder"],
  lcm: ["vae_decoder", "text_encoder", "tokenizer"],
};

/** How far apart two pictures' latents are, relative to their length. */
export function apart(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let difference = 0;
  let length = 0;
  for (let i = 0; i < b.length; i++) {
    difference += ((a[i] ?? 0) - (b[i] ?? 0)) ** 2;
    length += (b[i] ?? 0) ** 2;
  }
  return Math.sqrt(difference / length);
}

/** How a picture differs from what diffusers made. */
export interface Difference {
  /** The latents, relative to their length. */
  readonly apart: number;
  /** Colours that are more than 2 of 255 off. */
  readonly farColours: readonly number[];
  /** Why attention ran as the files have it; absent: it ran as one node. */
  readonly unfused: string | undefined;
}

/** Draws a case's picture, and compares. */
export async function drawCase(
  wanted: ParityCase & Drawn,
  models: ParityModels,
  runtime: Runtime,
  gpu: Gpu = false,
): Promise<Difference> {
  const { layout, config, width, height, steps, prompt, negative } = wanted;
  const folder = await models.withScheduler(layout, config);
  const pipeline = await Pipeline.load(runtime, { folder, threads: 1, gpu });
  try {
    const job = {
      ...{ width, height, steps, prompt },
      negativePrompt: negative,
      loras: Object.entries(wanted.loras).map(([id, weight]) => ({
        id,
        path: join(folder, "loras", `${id}.safetensors`),
        weight,
      })),
      bar: prompt.includes("|"),
      guidanceScale: wanted.guidance,
    };
    const latents = await pipeline.denoise(job, noiseOf(wanted.seed));
    const rgb = await pipeline.decode(latents, { width, height });
    if (latents.length !== wanted.latents.length || rgb.length !== wanted.rgb.length) {
      throw new Error("the picture has another size");
    }
    const farColours = rgb.filter((value, i) => Math.abs(value - (wanted.rgb[i] ?? 0)) > 2);
    const { unfused } = pipeline;
    return { apart: apart(latents, wanted.latents), farColours: [...farColours], unfused };
  } finally {
    await pipeline.close();
  }
}

/** Model folders in a directory of their own, for one test file. */
export class ParityModels {
  readonly #directory: string;
  /** Those that the models came with. */
  readonly #schedulers = new Map<Layout, string>();

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async unpack(...layouts: readonly Layout[]): Promise<ParityModels> {
    const models = new ParityModels(await mkdtemp(join(tmpdir(), "lintel-parity-")));
    for (const layout of layouts) {
      for (const part of shared[layout] ?? []) {
        await unpackFolder(join(root, "models/sd15", part), join(models.folder(layout), part));
      }
      await unpackFolder(join(root, "models", layout), models.folder(layout));
    }
    return models;
  }

  /** The folder of a model. */
  folder(layout: Layout): string {
    return join(this.#directory, layout);
  }

  /** The folder of a model, now with the scheduler of a case; null: its own. */
  async withScheduler(layout: Layout, scheduler: object | null): Promise<string> {
    const folder = this.folder(layout);
    const path = join(folder, "scheduler/scheduler_config.json");
    const own = this.#schedulers.get(layout) ?? (await readFile(path, "utf8"));
    this.#schedulers.set(layout, own);
    await writeFile(path, scheduler ? JSON.stringify(scheduler) : own);
    return folder;
  }

  /** A copy of a model, with another scheduler if one is given. */
  async copy(layout: Layout, name: string, scheduler?: object | null): Promise<string> {
    const to = join(this.#directory, name);
    await cp(this.folder(layout), to, { recursive: true });
    if (scheduler) {
      await writeFile(join(to, "scheduler/scheduler_config.json"), JSON.stringify(scheduler));
    }
    return to;
  }

  remove(): Promise<void> {
    return rm(this.#directory, { recursive: true });
  }
}

async function unpackFolder(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true });
  for (const entry of await readdir(to, { recursive: true })) {
    if (!entry.endsWith(".gz")) continue;
    const path = join(to, entry);
    await writeFile(path.slice(0, -".gz".length), gunzipSync(await readFile(path)));
    await rm(path);
  }
}

/** The runtime, but what was loaded stays so: another pipeline of the same model is quick. */
export function keepingSessions(runtime: Runtime): Runtime & { release(): Promise<void> } {
  const sessions = new Map<string, Promise<InferenceSession>>();
  const open = (model: string | Uint8Array, options: InferenceSession.SessionOptions) =>
    typeof model === "string"
      ? runtime.InferenceSession.create(model, options)
      : runtime.InferenceSession.create(model, options);
  const create = (model: string | Uint8Array, options: InferenceSession.SessionOptions) => {
    const key = createHash("sha256").update(model).digest("hex");
    const kept =
      sessions.get(key) ??
      open(model, options).then((session) =>
        Object.assign(Object.create(session), { release: async () => {} }),
      );
    sessions.set(key, kept);
    return kept;
  };
  return {
    ...runtime,
    InferenceSession: { create } as Runtime["InferenceSession"],
    async release() {
      for (const kept of sessions.values()) await Object.getPrototypeOf(await kept).release();
    },
  };
}
