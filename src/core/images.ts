/**
 * Makes an image request into jobs that one model can take, and what comes back
 * into the contract's images: prompts, seeds, positions, safety, storing.
 */
import type {
  Media,
  StreamTextToImageResponse,
  TextToImageRequest,
  TextToImageResponse,
} from "../../gen/lintel/v1/image_pb.js";
import { PromptBar } from "../../gen/lintel/v1/models_pb.js";
import type { Call, Handle, ImageCall, Middleware } from "./call.js";
import { imageDefaults } from "./defaults.js";
import { aboutField, LintelError } from "./errors.js";
import type { Finish } from "./finish.js";
import { ignoresNegatives } from "./fit.js";
import { doneEvent, imageEvent, noSeed, progressEvent } from "./image-events.js";
import { checkMade } from "./made.js";
import { barOf, type Prompt, promptsOf, readingOf } from "./prompts.js";
import { firstSeed, nthSeed } from "./seeds.js";
import type { Bounds, CoreSettings } from "./settings.js";
import { Undelivered } from "./undelivered.js";

/** Events of `streamTextToImage`, in batches. */
type Events = AsyncGenerator<readonly StreamTextToImageResponse[]>;

/** How many prompts one request may have. */
const mostPrompts = (bounds: Bounds): number => bounds.prompts?.max ?? 4;

/** One call to a model: one prompt, some images. */
interface Job extends Prompt {
  /** Of the first image; absent for a model that takes no seed and was not asked for one. */
  readonly seed: number | undefined;
  readonly images: number;
}

/**
 * Answers both forms of image generation out of the streamed one; other methods pass.
 * @param finish what is done to pictures before the caller gets them
 */
export function images(settings: CoreSettings, finish: Finish): Middleware {
  const method = "streamTextToImage";
  return (next) => (call) => {
    const whole = call.method === "textToImage";
    if (!whole && call.method !== method) return next(call);
    const undelivered = new Undelivered(finish);
    const streamed = whole ? unseen(call as Call<"textToImage">) : (call as Call<typeof method>);
    const make = next as Handle<typeof method>;
    const events = generate(streamed, make, settings.bounds, undelivered.finish);
    return whole ? gather(call, events, undelivered) : counted(call, events, undelivered);
  };
}

/** The streamed form of a whole call. Nobody is shown previews of it: a model server may take money for them. */
const unseen = (call: Call<"textToImage">): Call<"streamTextToImage"> => ({
  ...call,
  method: "streamTextToImage",
  unseen: true,
  request: { ...call.request, includePreviews: false },
});

async function* generate(
  call: Call<"streamTextToImage">,
  next: Handle<"streamTextToImage">,
  bounds: Bounds,
  finish: Finish,
): Events {
  const jobs = jobsOf(call, bounds);
  const images = jobs.reduce((sum, job) => sum + job.images, 0);
  const shown = withoutPreviews(call, finish);
  let offset = 0;
  try {
    for (const job of jobs) {
      yield* run(shown, next, job, offset, images, finish);
      offset += job.images;
    }
  } catch (thrown) {
    throw ofPrompt(thrown);
  }
  yield [doneEvent(call.warnings)];
}

/** An error as it is, but for what servers say of a prompt in the words that are known of conversations. */
const ofPrompt = (thrown: unknown): unknown =>
  thrown instanceof LintelError && thrown.param === "messages"
    ? aboutField(thrown, "prompt")
    : thrown;

/** The call, which asks for no previews where its images may be withheld. */
function withoutPreviews(
  call: Call<"streamTextToImage">,
  finish: Finish,
): Call<"streamTextToImage"> {
  if (!call.request.includePreviews || !finish.mayWithhold(call)) return call;
  call.warnings.add(
    "include_previews: no previews, since the safety check may blur or block the images",
  );
  return { ...call, request: { ...call.request, includePreviews: false } };
}

async function* run(
  call: Call<"streamTextToImage">,
  next: Handle<"streamTextToImage">,
  job: Job,
  offset: number,
  images: number,
  finish: Finish,
): Events {
  const places = new Set<number>();
  let done = false;
  let furthest = 0;
  // What is made already would be lost with the rest.
  const begun = call.begun || offset > 0;
  for await (const batch of next({ ...call, begun, request: requestFor(call.request, job) })) {
    const out: StreamTextToImageResponse[] = [];
    for (const { event: e } of batch) {
      if (e.case === "progress") {
        const { steps } = e.value;
        // What a server says may be beyond what there is.
        const step = Math.min(e.value.step, steps);
        const index = Math.min(e.value.index, job.images - 1) + offset;
        const each = Math.max(steps, 1);
        // Divided once, and last: doors show whole numbers, and 57.99… would be 57 of 58.
        const percent = (100 * (index * each + step)) / (each * images);
        // Nor do servers that draw several at once, or begin anew, take back what was told.
        furthest = Math.max(furthest, percent);
        const preview = finish.preview(call, e.value.preview);
        out.push(progressEvent({ ...e.value, index, images, step, percent: furthest, preview }));
      } else if (e.case === "image" && e.value.media) {
        const { index } = e.value;
        // Places become positions of a list, which is as long as the last one says.
        if (!(index >= 0 && index < job.images) || places.has(index)) throw notAll();
        places.add(index);
        const asked = (call.request.seed ?? -1n) >= 0n && job.seed !== undefined;
        checkMade(call, e.value.media, asked ? nthSeed(job.seed, index) : undefined, finish.check);
        const seedless = e.value.media.seed === noSeed;
        // Who asked for one was told already.
        if (seedless && !asked) call.warnings.add("seed: this model takes none, 0 stands for that");
        const seed = seedless ? 0 : e.value.media.seed;
        const media: Media = await finish.image(call, { ...e.value.media, seed });
        out.push(imageEvent(index + offset, media));
      } else if (e.case === "done") {
        done = true;
        for (const warning of e.value.warnings) call.warnings.add(warning);
      }
    }
    if (out.length > 0) yield out;
  }
  if (done && places.size === job.images) return;
  throw notAll();
}

const notAll = () => new LintelError("upstream_failed", "the model server did not make all images");

function jobsOf(call: Call<"streamTextToImage">, bounds: Bounds): Job[] {
  const { request } = call;
  // Whichever of its targets makes them.
  const supported = (field: string) =>
    (call.targets?.length ?? 0) > 0 &&
    call.targets?.every(({ model }) => model.supports.includes(field)) === true;
  const each = request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt;
  const perJob = supported("num_images_per_prompt") ? each : 1;
  const first = seedOf(request, supported("seed"));
  const jobs: Job[] = [];
  let made = 0;
  for (const prompt of promptsFor(call, bounds)) {
    for (let left = each; left > 0; left -= perJob) {
      const seed = first === undefined ? undefined : nthSeed(first, made);
      jobs.push({ ...prompt, seed, images: perJob });
      made += perJob;
    }
  }
  return jobs;
}

/**
 * The prompts of a request, as its model reads them.
 * @throws LintelError as `promptsOf` does
 */
function promptsFor(call: ImageCall, bounds: Bounds): Prompt[] {
  const { request, targets = [], modelSettings } = call;
  const bar = barOf(readingOf(call)) ?? targets[0]?.model.promptBar ?? PromptBar.BATCH;
  // At one of the targets that it may get to.
  const heeded = targets.some(
    ({ model }) => !ignoresNegatives(request, model, modelSettings, bounds),
  );
  return promptsOf(request, bar, mostPrompts(bounds), heeded);
}

/**
 * How many images a request asks for.
 * @throws LintelError as `promptsOf` does
 */
export function imagesAsked(call: ImageCall, bounds: Bounds): number {
  const each = call.request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt;
  return promptsFor(call, bounds).length * each;
}

function seedOf({ seed = -1n }: TextToImageRequest, supported: boolean): number | undefined {
  return supported || seed >= 0n ? firstSeed(seed) : undefined;
}

function requestFor(request: TextToImageRequest, job: Job): TextToImageRequest {
  return {
    ...request,
    prompt: job.prompt,
    negativePrompt: job.negativePrompt,
    seed: job.seed === undefined ? undefined : BigInt(job.seed),
    numImagesPerPrompt: job.images,
    includeData: true,
  };
}

/** Counts images as they are delivered: one that is ready may still be lost with its batch. */
async function* counted(call: Call, events: Events, undelivered: Undelivered): Events {
  try {
    for await (const batch of events) {
      // Its caller left while an image of it was being stored, and gets none.
      call.signal.throwIfAborted();
      const images = batch.filter(({ event }) => event.case === "image").length;
      if (images > 0) call.attributes.images = (call.attributes.images ?? 0) + images;
      undelivered.deliver();
      yield batch;
    }
  } finally {
    undelivered.discard(call);
  }
}

/** One answer out of all events. Nothing is delivered, and so counted, before it is whole. */
async function* gather(
  call: Call,
  events: Events,
  undelivered: Undelivered,
): AsyncGenerator<readonly TextToImageResponse[]> {
  const images: Media[] = [];
  let warnings: string[] = [];
  try {
    for await (const batch of events) {
      for (const { event: e } of batch) {
        if (e.case === "image" && e.value.media) images[e.value.index] = e.value.media;
        else if (e.case === "done") warnings = e.value.warnings;
      }
    }
    // As in a stream.
    call.signal.throwIfAborted();
    undelivered.deliver();
  } finally {
    undelivered.discard(call);
  }
  call.attributes.images = images.length;
  yield [{ $typeName: "lintel.v1.TextToImageResponse", images, warnings }];
}
