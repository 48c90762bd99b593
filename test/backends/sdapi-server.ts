/**
 * A scripted server of the Stable Diffusion web API. It makes one image at a
 * time, as the real ones do: a step with each look at its progress, so that no
 * test waits for time to pass.
 */
import { fixture } from "./fixture.js";
import { paint } from "./paint.js";
import { type Exchange, type Script, Upstream } from "./upstream.js";

/** Which server it stands for. `old` is AUTOMATIC1111 without tasks, or with --nowebui. */
export type Product = "a1111" | "old" | "sdnext" | "sdcpp" | "koboldcpp";

// biome-ignore lint/suspicious/noExplicitAny: whatever was sent
type Body = any;

/** One request for images on the server. */
interface Work {
  readonly body: Body;
  readonly task: string | undefined;
  step: number;
  stuck: boolean;
  /** Called when it is made, or interrupted. */
  end: () => void;
}

/** A server with its queue. */
export class Webui {
  readonly upstream: Upstream;
  /** Tasks or prompts of what was interrupted. */
  readonly interrupted: string[] = [];
  /** Answers to the next requests for images instead of images. */
  readonly next: Script[] = [];
  /** The step at which work gets stuck, once. */
  stuck: number | undefined;
  /** Called when work is stuck. */
  onStuck: () => void = () => {};
  /** Called when work is interrupted. */
  onStop: () => void = () => {};
  /** Somebody pressed Interrupt on the server's page. */
  halted = false;
  /** Puts this many images of something else before the real ones. */
  grid = 0;
  readonly #product: Product;
  /** It is one with a queue and a progress. */
  readonly #isWebui: boolean;
  readonly #works: Work[] = [];
  #stamp = 20251103143000;

  private constructor(upstream: Upstream, product: Product) {
    this.upstream = upstream;
    this.#product = product;
    this.#isWebui = product !== "sdcpp" && product !== "koboldcpp";
    upstream.script((exchange) => this.#answer(exchange));
  }

  /**
   * Starts one.
   * @param port 0: a free one
   */
  static async start(product: Product = "a1111", port = 0): Promise<Webui> {
    return new Webui(await Upstream.start(undefined, port), product);
  }

  /** How many requests for images it has that are not done. */
  get working(): number {
    return this.#works.length;
  }

  /** What was asked of `txt2img`. */
  get asked(): Body[] {
    return this.upstream.requests
      .filter(({ path }) => path === "/sdapi/v1/txt2img")
      .map(({ body }) => JSON.parse(body.toString("utf8")));
  }

  /** How often a path was asked. */
  times(path: string): number {
    return this.upstream.requests.filter((request) => request.path.startsWith(path)).length;
  }

  /** Somebody else's image, that gets on with no look. */
  occupy(task = "task(somebody)"): { done(): void } {
    const work: Work = { body: { steps: 20 }, task, step: 0, stuck: false, end: () => {} };
    this.#works.push(work);
    return { done: () => this.#remove(work) };
  }

  /** Makes what waits for looks that don't come. */
  finish(): void {
    this.#works[0]?.end();
  }

  #remove(work: Work): void {
    this.#works.splice(this.#works.indexOf(work), 1);
    this.#stamp += 1;
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { method, path } = exchange.request;
    const name = `${method} ${path.replace(/\?.*/, "")}`;
    const folder = this.#product === "old" ? "a1111" : this.#product;
    const webui = this.#isWebui;
    const tasks = this.#product === "a1111";
    if (name === "GET /sdapi/v1/sd-models") return exchange.play(fixture(`${folder}/models`));
    if (name === "GET /sdapi/v1/loras") {
      return exchange.play(fixture(webui ? "a1111/loras" : "sdcpp/loras"));
    }
    if (this.#product === "koboldcpp" && name === "GET /api/extra/version") {
      return exchange.play(fixture("koboldcpp/version"));
    }
    if (name === "POST /sdapi/v1/txt2img") return this.#txt2img(exchange);
    if (webui && name === "GET /sdapi/v1/progress") return this.#progress(exchange);
    if (webui && name === "POST /sdapi/v1/interrupt") return this.#interrupt(exchange);
    if (tasks && name === "POST /internal/progress") return this.#task(exchange);
    if (tasks && name === "GET /internal/pending-tasks") {
      const waiting = this.#works.slice(1).map(({ task }) => task);
      return exchange.sendJson(200, { size: waiting.length, tasks: waiting });
    }
    return exchange.play(fixture("a1111/no-api"));
  }

  async #txt2img(exchange: Exchange): Promise<void> {
    const script = this.next.shift();
    if (script) return script(exchange);
    const body = exchange.json();
    const task = this.#product === "a1111" ? body.force_task_id : undefined;
    const looks = this.#isWebui;
    const work: Work = { body, task, step: 0, stuck: false, end: () => {} };
    const made = new Promise<void>((resolve) => {
      work.end = resolve;
    });
    this.#works.push(work);
    if (!looks) {
      if (this.stuck === undefined) work.end();
      else {
        this.stuck = undefined;
        this.onStuck();
        void exchange.gone.then(() => {
          this.onStop();
          work.end();
        });
      }
    }
    await made;
    this.#remove(work);
    await this.#images(exchange, body);
  }

  async #images(exchange: Exchange, body: Body): Promise<void> {
    const { answer, info } = template(this.#isWebui ? "a1111" : this.#product);
    const first = this.#seedOf(body);
    // KoboldCpp knows no batches.
    const count = this.#product === "koboldcpp" ? 1 : body.batch_size;
    const seeds = Array.from({ length: count }, (_, i) => first + i);
    const pictures = seeds.map((seed) => pictureOf(body, seed));
    const grids = Array.from({ length: this.grid }, () => paint(16, 16, 0, "grid"));
    info.all_seeds = seeds;
    info.seed = first;
    info.index_of_first_image = this.grid;
    // The model that was used, as `modules/processing.py` tells it.
    info.sd_model_name = "v1-5-pruned-emaonly";
    if (/xl/.test(body.override_settings?.sd_model_checkpoint ?? "")) {
      info.sd_model_name = "sd_xl_base_1.0";
    }
    answer.images = [...grids, ...pictures].map((png) => png.toString("base64"));
    answer.info = JSON.stringify(info);
    await exchange.sendJson(200, answer);
  }

  #seedOf(body: Body): number {
    if (this.#product === "koboldcpp") return madeUp(body.seed | 0);
    return this.#product === "sdcpp" ? sdcppSeed(body) : body.seed;
  }

  #progress(exchange: Exchange): void | Promise<void> {
    const [work] = this.#works;
    const product = this.#product === "sdnext" ? "sdnext" : "a1111";
    if (!work) return exchange.play(fixture(`${product}/idle`));
    const answer = JSON.parse(String(fixture(`${product}/progress`).body));
    Object.assign(answer.state, {
      job_timestamp: String(this.#stamp),
      sampling_step: work.step,
      sampling_steps: work.body.steps,
      interrupted: this.halted,
    });
    if (!exchange.request.path.includes("skip_current_image=true") && work.step > 0) {
      answer.current_image = paint(8, 8, work.step, "preview").toString("base64");
    }
    if (work.body.prompt === undefined || work.stuck) return exchange.sendJson(200, answer);
    if (this.stuck === work.step) {
      this.stuck = undefined;
      work.stuck = true;
      this.onStuck();
      // Held up before its first step, it is too busy to answer at all.
      if (work.step === 0) return exchange.gone;
    } else if (work.step === work.body.steps) work.end();
    else work.step += 1;
    return exchange.sendJson(200, answer);
  }

  #task(exchange: Exchange): Promise<void> {
    const id = exchange.json().id_task;
    const answer = JSON.parse(String(fixture("a1111/task").body));
    answer.active = this.#works[0]?.task === id;
    answer.queued = this.#works.slice(1).some(({ task }) => task === id);
    return exchange.sendJson(200, answer);
  }

  async #interrupt(exchange: Exchange): Promise<void> {
    const [work] = this.#works;
    if (work) {
      this.interrupted.push(work.body.prompt ?? work.task);
      this.onStop();
      work.end();
    }
    if (this.#product === "sdnext") return exchange.send(204, {}, "");
    return exchange.sendJson(200, {});
  }
}

const extraArgs = /<sd_cpp_extra_args>(.*?)<\/sd_cpp_extra_args>/;

/** stable-diffusion.cpp reads the field as an int, and makes up a seed for a negative one. */
function sdcppSeed({ seed, prompt }: Body): number {
  const extra = JSON.parse(extraArgs.exec(prompt)?.[1] ?? "{}");
  return madeUp(extra.seed ?? seed | 0);
}

const madeUp = (seed: number): number => (seed < 0 ? 1804289383 : seed);

/** The prompt that is drawn. */
export const promptOf = ({ prompt = "" }: Body): string => prompt.replace(extraArgs, "");

/** The picture for a request. */
export function pictureOf(body: Body, seed: number): Buffer {
  const { negative_prompt: negative, cfg_scale: scale, steps, width, height } = body;
  const prompt = promptOf(body);
  const lora = JSON.stringify(body.lora ?? []);
  return paint(width, height, seed, prompt, negative, String(scale), String(steps), lora);
}

// biome-ignore lint/suspicious/noExplicitAny: filled in by the caller
function template(product: string): { answer: any; info: any } {
  const answer = JSON.parse(String(fixture(`${product}/txt2img`).body));
  return { answer, info: JSON.parse(answer.info) };
}
