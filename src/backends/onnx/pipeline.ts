/** Text to image with a latent diffusion model, from the prompt to the PNG. */
import { nthSeed } from "../../core/seeds.js";
import { freeMemory } from "../memory.js";
import { Device } from "./device.js";
import { files, type ModelFolder, readFolder } from "./folder.js";
import { Variants } from "./lora/variants.js";
import { type Noise, noiseOf } from "./noise.js";
import { encodePng } from "./png.js";
import { type Projection, preview, projectionOf } from "./previews.js";
import { JobProblem, NotFinite, RuntimeProblem } from "./problem.js";
import { encodePrompts } from "./prompts.js";
import type { ImageEvent, ImageJob, PipelineSettings } from "./protocol.js";
import type { Runtime } from "./runtime.js";
import { type StartRun, schedulerOf } from "./schedulers/index.js";
import { processTurns } from "./turns.js";
import { guided, type LatentSize, numbersIn } from "./unet.js";
import { decodeLatents, latentSize, leastSize, type Size } from "./vae.js";
import { type Loading, loadParts, type Parts, type Weights } from "./weights.js";

/** What of a job makes one picture. */
export type PictureJob = Pick<
  ImageJob,
  "prompt" | "negativePrompt" | "bar" | "guidanceScale" | "steps" | "width" | "height" | "loras"
>;

/** What a run needs of its surroundings. */
export interface RunHooks {
  /** Called between steps; throws to stop. */
  checkpoint(): void;
  /** Called after each step with how many are done, and a small picture where those are wanted. */
  onStep?(done: number, preview?: Uint8Array<ArrayBuffer>): void;
  /** Whether previews are wanted. */
  readonly previews?: boolean;
}

/** Called before a model that is loaded takes so many bytes in all; throws if it may not. */
type Admit = (bytes: number) => Promise<void>;

const never: RunHooks = { checkpoint() {} };

/** A loaded model, and how it makes images. */
export class Pipeline {
  /** Where it runs. */
  readonly device: Device;
  /** Why attention runs as the files have it; absent: it runs as one node. */
  readonly unfused: string | undefined;
  readonly #folder: ModelFolder;
  readonly #parts: Parts;
  readonly #variants: Variants;
  readonly #startRun: StartRun;
  #projection: Promise<Projection> | undefined;

  private constructor(
    loading: Loading,
    parts: Parts,
    start: StartRun,
    settings: PipelineSettings,
    admit: Admit,
  ) {
    this.device = loading.device;
    this.unfused = loading.unfused;
    this.#folder = loading.folder;
    this.#parts = parts;
    const free = () => settings.freeMemory ?? freeMemory();
    const most = settings.loraVariants ?? 1;
    this.#variants = new Variants(loading, parts.weights, most, free, (bytes) =>
      admit(parts.memory + bytes),
    );
    this.#startRun = start;
  }

  /**
   * Loads a model and makes a tiny picture with it, so that parts that don't
   * fit each other show now.
   * @throws ModelProblem that names the file at fault
   */
  static async load(
    runtime: Runtime,
    settings: PipelineSettings,
    admit: Admit = async () => {},
  ): Promise<Pipeline> {
    const folder = await readFolder(settings.folder);
    const start = schedulerOf(folder.scheduler, files.scheduler);
    const { threads, gpu = false, turns = processTurns } = settings;
    const device = await Device.open(runtime, gpu, turns);
    const open = (unfused?: string) =>
      Pipeline.#open({ runtime, device, folder, threads, unfused }, start, settings, admit);
    try {
      return await open();
    } catch (error) {
      // What the files have may still do where the operator that stands for it does not.
      if (!(error instanceof RuntimeProblem || error instanceof NotFinite)) throw error;
      return await open(error.message);
    }
  }

  static async #open(
    loading: Loading,
    start: StartRun,
    settings: PipelineSettings,
    admit: Admit,
  ): Promise<Pipeline> {
    const parts = await loadParts(loading, settings.freeMemory ?? freeMemory());
    const pipeline = new Pipeline(loading, parts, start, settings, admit);
    try {
      await pipeline.#warmUp();
      return pipeline;
    } catch (error) {
      await pipeline.close();
      throw error;
    }
  }

  async #warmUp(): Promise<void> {
    const size = leastSize(this.#folder);
    const texts = { prompt: "", negativePrompt: "", bar: false } as const;
    const job = { ...size, ...texts, loras: [], guidanceScale: 2, steps: this.#leastSteps() };
    await this.decode(await this.denoise(job, noiseOf(0)), size);
  }

  /** Some schedulers can't do with one step. */
  #leastSteps(): number {
    for (let steps = 1; ; steps++) {
      try {
        this.#startRun(steps);
        return steps;
      } catch (error) {
        if (!(error instanceof JobProblem) || steps === 10) throw error;
      }
    }
  }

  /**
   * Makes the images of a job, one after the other.
   * @param checkpoint called between steps; throws to stop
   * @throws ModelProblem if the model fails, JobProblem if it can't do what the job wants
   */
  async run(job: ImageJob, emit: (event: ImageEvent) => void, checkpoint: () => void) {
    const { weights, warnings } = await this.#variants.of(job.loras);
    for (const text of warnings) emit({ type: "warning", text });
    try {
      await this.#make(job, weights, emit, checkpoint);
    } catch (error) {
      // The model alone was seen to work when it was loaded.
      if (!(error instanceof NotFinite) || weights === this.#parts.weights) throw error;
      const problem = "with them the model gives values that are not finite; lower weights may do";
      throw new JobProblem("loras", problem, { cause: error });
    }
  }

  async #make(
    job: ImageJob,
    weights: Weights,
    emit: (event: ImageEvent) => void,
    checkpoint: () => void,
  ) {
    await this.#warnOfCuts(job, weights, emit);
    for (let index = 0; index < job.images; index++) {
      const seed = nthSeed(job.seed, index);
      const onStep = (step: number, preview?: Uint8Array<ArrayBuffer>) =>
        emit({ type: "progress", index, step, preview });
      const hooks = { checkpoint, onStep, previews: job.previews };
      const latents = await this.denoise(job, noiseOf(seed), hooks, weights);
      checkpoint();
      const rgb = await this.decode(latents, job);
      checkpoint();
      const { width, height } = job;
      const checker = job.safetyCheck ? this.#parts.checker : undefined;
      const nsfw = (await checker?.isHarmful({ rgb, width, height })) ?? false;
      const data = await encodePng(rgb, width, height);
      emit({ type: "image", index, seed, data, nsfw });
    }
  }

  async #warnOfCuts(job: ImageJob, weights: Weights, emit: (event: ImageEvent) => void) {
    const { prompt, negative } = await encodePrompts(job, weights, this.#folder);
    for (const [field, encoded] of Object.entries({ prompt, negative_prompt: negative })) {
      if (!encoded?.cut) continue;
      emit({ type: "warning", text: `${field}: cut to the model's ${encoded.tokens} tokens` });
    }
  }

  /** Bytes that the model takes in memory now, about, fused LoRAs included. */
  get memory(): number {
    return this.#parts.memory + this.#variants.memory;
  }

  /** Shape of the latents for a picture. */
  latentSize(size: Size): LatentSize {
    return latentSize(this.#folder, size);
  }

  /**
   * Makes the latents of one picture.
   * @param noise where its noise comes from
   * @param fused the model with the job's LoRAs; absent: looked for
   */
  async denoise(job: PictureJob, noise: Noise, hooks: RunHooks = never, fused?: Weights) {
    const weights = fused ?? (await this.#variants.of(job.loras)).weights;
    const size = this.latentSize(job);
    const scheduler = this.#startRun(job.steps);
    const model = guided(weights.unet, size, await encodePrompts(job, weights, this.#folder));
    const latents = new Float32Array(numbersIn(size));
    noise(latents);
    if (scheduler.initialSigma !== 1) {
      latents.forEach((value, i) => {
        latents[i] = value * scheduler.initialSigma;
      });
    }
    for (const [step, timestep] of scheduler.timesteps.entries()) {
      hooks.checkpoint();
      scheduler.scale(latents, step, model.input);
      const output = await model.predict(timestep);
      scheduler.advance(output, step, latents, noise);
      // Schedulers that run the model more often than they step do so at the beginning.
      const done = step + 1 - (scheduler.timesteps.length - job.steps);
      if (done <= 0) continue;
      const reading = scheduler.reading(step);
      const picture = hooks.previews
        ? await preview(await this.#projected(), size, model.input, output, reading)
        : undefined;
      hooks.onStep?.(done, picture);
    }
    if (latents.some((value) => !Number.isFinite(value))) throw new NotFinite(files.unet);
    return latents;
  }

  #projected(): Promise<Projection> {
    this.#projection ??= projectionOf(this.#folder, this.#parts.vae).catch((error) => {
      // It may have been short of memory: the next job tries again.
      this.#projection = undefined;
      throw error;
    });
    return this.#projection;
  }

  /** Latents to 8-bit RGB. */
  decode(latents: Float32Array, size: Size): Promise<Uint8ClampedArray> {
    return decodeLatents(this.#parts.vae, this.#folder, latents, this.latentSize(size), size);
  }

  /** Frees the model; not while it runs. */
  async close(): Promise<void> {
    await this.#variants.release();
    const { weights, vae, checker } = this.#parts;
    for (const { graph } of weights.encoders) await graph.release();
    await weights.unet.release();
    await vae.release();
    await checker?.release();
  }
}
