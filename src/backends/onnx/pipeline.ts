/** Text to image with a latent diffusion model, from the prompt to the PNG. */
import { files, type ModelFolder, readFolder } from "./folder.js";
import { type Noise, noiseOf } from "./noise.js";
import { encodePng } from "./png.js";
import { JobProblem, ModelProblem } from "./problem.js";
import type { ImageEvent, ImageJob } from "./protocol.js";
import type { Runtime } from "./runtime.js";
import { type StartRun, schedulerOf } from "./schedulers/index.js";
import { zerosLike } from "./text.js";
import { guided, type LatentSize, numbersIn, takesGuidance, type Wanted } from "./unet.js";
import { decodeLatents, latentSize, leastSize, type Size } from "./vae.js";
import { loadParts, type Parts, type Weights } from "./weights.js";

/** What of a job makes one picture. */
export type PictureJob = Pick<
  ImageJob,
  "prompt" | "negativePrompt" | "bar" | "guidanceScale" | "steps" | "width" | "height"
>;

/** What a run needs of its surroundings. */
export interface RunHooks {
  /** Called between steps; throws to stop. */
  checkpoint(): void;
  /** Called after each step with how many are done. */
  onStep?(done: number): void;
}

const never: RunHooks = { checkpoint() {} };

export class Pipeline {
  readonly #folder: ModelFolder;
  readonly #parts: Parts;
  readonly #startRun: StartRun;

  private constructor(folder: ModelFolder, parts: Parts, start: StartRun) {
    this.#folder = folder;
    this.#parts = parts;
    this.#startRun = start;
  }

  /**
   * Loads a model and makes a tiny picture with it, so that parts that don't
   * fit each other show now.
   * @param path the folder
   * @param threads that a run uses
   * @throws ModelProblem that names the file at fault
   */
  static async load(runtime: Runtime, path: string, threads: number): Promise<Pipeline> {
    const folder = await readFolder(path);
    const start = schedulerOf(folder.scheduler, files.scheduler);
    const parts = await loadParts({ runtime, folder, threads });
    const pipeline = new Pipeline(folder, parts, start);
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
    const job = { ...size, ...texts, guidanceScale: 2, steps: this.#leastSteps() };
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
    for (let index = 0; index < job.images; index++) {
      const seed = (job.seed + index) % 2 ** 32;
      const onStep = (step: number) => emit({ type: "progress", index, step });
      if (index === 0) await this.#warnOfLength(job, emit);
      const latents = await this.denoise(job, noiseOf(seed), { checkpoint, onStep });
      checkpoint();
      const rgb = await this.decode(latents, job);
      checkpoint();
      const data = await encodePng(rgb, job.width, job.height);
      emit({ type: "image", index, seed, data });
    }
  }

  async #warnOfLength(job: ImageJob, emit: (event: ImageEvent) => void): Promise<void> {
    const { prompt, negative } = await this.#encoded(job, this.#parts.weights);
    for (const [field, encoded] of Object.entries({ prompt, negative_prompt: negative })) {
      if (!encoded?.cut) continue;
      emit({ type: "warning", text: `${field}: cut to the model's ${encoded.tokens} tokens` });
    }
  }

  /** The job's texts as the UNet takes them. */
  async #encoded(job: PictureJob, { encode, unet }: Weights): Promise<Wanted> {
    const prompt = await encode(textsOf(job.prompt, job));
    const { guidanceScale, width, height, negativePrompt } = job;
    const wanted = { prompt, guidanceScale, width, height };
    // At a scale of 1 the guided prediction is the plain one, below 1 the contract has no guidance.
    if (guidanceScale <= 1 || takesGuidance(unet)) return wanted;
    const empty = negativePrompt.trim() === "" && this.#folder.zeroNegative;
    const negative = empty ? zerosLike(prompt) : await encode(textsOf(negativePrompt, job));
    return { ...wanted, negative };
  }

  /** Shape of the latents for a picture. */
  latentSize(size: Size): LatentSize {
    return latentSize(this.#folder, size);
  }

  /**
   * Makes the latents of one picture.
   * @param noise where its noise comes from
   */
  async denoise(job: PictureJob, noise: Noise, hooks: RunHooks = never): Promise<Float32Array> {
    const { weights } = this.#parts;
    const size = this.latentSize(job);
    const scheduler = this.#startRun(job.steps);
    const model = guided(weights.unet, size, await this.#encoded(job, weights));
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
      scheduler.advance(await model.predict(timestep), step, latents, noise);
      // Schedulers that run the model more often than they step do so at the beginning.
      const done = step + 1 - (scheduler.timesteps.length - job.steps);
      if (done > 0) hooks.onStep?.(done);
    }
    if (latents.some((value) => !Number.isFinite(value))) {
      throw new ModelProblem(`${files.unet}: gives values that are not finite`);
    }
    return latents;
  }

  /** Latents to 8-bit RGB. */
  decode(latents: Float32Array, size: Size): Promise<Uint8ClampedArray> {
    return decodeLatents(this.#parts.vae, this.#folder, latents, this.latentSize(size), size);
  }

  /** Frees the model; not while it runs. */
  async close(): Promise<void> {
    const { weights, vae } = this.#parts;
    for (const { graph } of weights.encoders) await graph.release();
    await weights.unet.release();
    await vae.release();
  }
}

/** The texts for the encoders. */
function textsOf(text: string, { bar }: PictureJob): string[] {
  return bar ? text.split("|").map((part) => part.trim()) : [text];
}
