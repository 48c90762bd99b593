/** Text to image with a latent diffusion model, from the prompt to the PNG. */
import { files, type ModelFolder, readFolder } from "./folder.js";
import { Graph } from "./graph.js";
import { type Noise, noiseOf } from "./noise.js";
import { encodePng } from "./png.js";
import { ModelProblem } from "./problem.js";
import type { ImageEvent, ImageJob } from "./protocol.js";
import type { Runtime } from "./runtime.js";
import { type StartRun, schedulerOf } from "./schedulers/index.js";
import { type EncodePrompt, promptEncoder } from "./text.js";
import { promptTokenizer } from "./tokens.js";
import { guided, type LatentSize, numbersIn } from "./unet.js";
import { decodeLatents, latentSize, type Size } from "./vae.js";

/** What of a job makes one picture. */
export type PictureJob = Pick<
  ImageJob,
  "prompt" | "negativePrompt" | "guidanceScale" | "steps" | "width" | "height"
>;

/** What a run needs of its surroundings. */
export interface RunHooks {
  /** Called between steps; throws to stop. */
  checkpoint(): void;
  /** Called after each step with how many are done. */
  onStep?(done: number): void;
}

const never: RunHooks = { checkpoint() {} };

/** Parts of a loaded model. */
interface Parts {
  readonly text: Graph;
  readonly unet: Graph;
  readonly vae: Graph;
}

export class Pipeline {
  readonly #folder: ModelFolder;
  readonly #parts: Parts;
  readonly #encode: EncodePrompt;
  readonly #startRun: StartRun;

  private constructor(folder: ModelFolder, parts: Parts, encode: EncodePrompt, start: StartRun) {
    this.#folder = folder;
    this.#parts = parts;
    this.#encode = encode;
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
    const tokenize = promptTokenizer(runtime, folder);
    const loaded: Graph[] = [];
    const load = async (file: string, inputs: string[], output: string) => {
      const graph = await Graph.load(runtime, path, file, { inputs, output }, threads);
      loaded.push(graph);
      return graph;
    };
    try {
      const text = await load(files.textEncoder, ["input_ids"], "last_hidden_state");
      const inputs = ["sample", "timestep", "encoder_hidden_states"];
      const unet = await load(files.unet, inputs, "out_sample");
      const vae = await load(files.vae, ["latent_sample"], "sample");
      const encode = promptEncoder(text, tokenize);
      const pipeline = new Pipeline(folder, { text, unet, vae }, encode, start);
      await pipeline.#warmUp();
      return pipeline;
    } catch (error) {
      for (const graph of loaded) await graph.release();
      throw error;
    }
  }

  async #warmUp(): Promise<void> {
    const size = { width: 64, height: 64 };
    const job = { ...size, prompt: "", negativePrompt: "", guidanceScale: 2, steps: 1 };
    await this.decode(await this.denoise(job, noiseOf(0)), size);
  }

  /**
   * Makes the images of a job, one after the other.
   * @param checkpoint called between steps; throws to stop
   * @throws ModelProblem if the model fails
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
    const texts = { prompt: job.prompt, negative_prompt: isGuided(job) ? job.negativePrompt : "" };
    for (const [field, text] of Object.entries(texts)) {
      const { cut, tokens } = await this.#encode(text);
      if (cut) emit({ type: "warning", text: `${field}: cut to the model's ${tokens} tokens` });
    }
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
    const prompt = await this.#encode(job.prompt);
    const negative = isGuided(job) ? await this.#encode(job.negativePrompt) : undefined;
    const size = this.latentSize(job);
    const model = guided(this.#parts.unet, size, prompt, negative, job.guidanceScale);
    const scheduler = this.#startRun(job.steps);
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
      hooks.onStep?.(step + 1);
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
    for (const graph of Object.values(this.#parts)) await graph.release();
  }
}

/** At a scale of 1 the guided prediction is the plain one, below 1 the contract has no guidance. */
function isGuided({ guidanceScale }: PictureJob): boolean {
  return guidanceScale > 1;
}
