/** `POST /text-to-image` of another gateway. */
import type {
  Media,
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../../gen/lintel/v1/image_pb.js";
import type { Call } from "../../core/call.js";
import { imageDefaults } from "../../core/defaults.js";
import {
  doneEvent,
  imageEvent,
  inlineImage,
  madeEvents,
  noSeed,
  progressEvent,
} from "../../core/image-events.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { nthSeed } from "../../core/seeds.js";
import { readObject } from "../completions/completion.js";
import { saysNothing } from "../completions/events.js";
import { eventsIn } from "../completions/events-in.js";
import type { Answer } from "../http/answer.js";
import { isWhole } from "../http/ask.js";
import { brokenOff, nonsense } from "../http/failure.js";
import { fetchImage } from "../http/fetch-image.js";
import { string, uint32 } from "../http/json.js";
import { LargeAnswer } from "../http/large.js";
import { previewOf } from "../http/preview.js";
import { failureIn } from "./failure.js";
import { ask, type Gateway, handOnWarnings } from "./gateway.js";

/** Most bytes of an answer or an event; images may be inside, in `data:` URLs. */
const answerLimit = 256 * 1024 * 1024;

type ImageCall = Call<"streamTextToImage">;
type Events = AsyncGenerator<readonly StreamTextToImageResponse[]>;

/** What an answer is read for. */
interface Job {
  readonly gateway: Gateway;
  readonly call: ImageCall;
  readonly images: number;
  /** Of each image, where the gateway does not say. */
  readonly steps: number;
}

/** What images are fetched for. */
interface Source {
  readonly gateway: Gateway;
  readonly call: ImageCall;
  /** The place of the answer, where all of them come in one. */
  readonly large?: LargeAnswer;
}

/** The images of a request, with progress where the gateway tells it; each is fetched. */
export async function* generateImages(gateway: Gateway, call: ImageCall): Events {
  const { request } = call;
  const images = request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt;
  const steps = request.numInferenceSteps ?? imageDefaults.numInferenceSteps;
  const answer = await ask(gateway, "/text-to-image", call, bodyOf(gateway, request));
  try {
    yield [progressEvent({ index: 0, images, step: 0, steps })];
    yield* (isWhole(answer) ? whole : streamed)({ gateway, call, images, steps }, answer);
  } finally {
    answer.abort();
  }
}

async function* whole({ gateway, call, images, steps }: Job, answer: Answer): Events {
  const large = new LargeAnswer(gateway.transport, call.signal);
  try {
    const value = readAnswer((await large.bytes(answer, answerLimit)).toString("utf8"));
    handOnWarnings(call, value);
    const made = await allOf({ gateway, call, large }, value, images);
    large.leave();
    yield made.flatMap((media, index) => madeEvents({ index, images, steps }, media));
    yield [doneEvent([])];
  } finally {
    large.leave();
  }
}

async function* streamed({ gateway, call, images, steps }: Job, answer: Answer): Events {
  let made = 0;
  for await (const { data } of eventsIn(answer, answerLimit)) {
    if (saysNothing(data)) continue;
    const value = readAnswer(data);
    if (value.type === "progress") yield [await progressOf(value, images, steps)];
    if (value.type === "image") {
      const index = uint32(value.index);
      yield [imageEvent(index, await mediaOf({ gateway, call }, value.image, index))];
      made += 1;
    }
    if (value.type === "done") {
      handOnWarnings(call, value);
      // Whoever sends no event for each image has them all in the last one.
      if (made === 0) {
        const all = await allOf({ gateway, call }, value, images);
        yield all.map((media, index) => imageEvent(index, media));
      }
      yield [doneEvent([])];
      answer.drain();
      return;
    }
  }
  throw brokenOff();
}

/** What an answer or an event says. @throws LintelError as it reports an error */
function readAnswer(text: string): JsonObject {
  const value = readObject(text);
  const failure = failureIn(value);
  if (failure) throw failure;
  return value;
}

async function allOf(source: Source, { images }: JsonObject, count: number) {
  if (!Array.isArray(images) || images.length !== count) {
    throw nonsense("answered with another number of images than was asked for");
  }
  return Promise.all(images.map((image, i) => mediaOf(source, image, i)));
}

async function mediaOf(
  { gateway, call, large }: Source,
  image: unknown,
  index: number,
): Promise<Media> {
  const url = isObject(image) ? string(image.url) : "";
  if (!isObject(image) || url === "") throw nonsense("answered without an image");
  const data = await fetchImage(url, gateway.fetching, call.signal, large);
  const { seed: asked } = call.request;
  // A gateway that says no seed is taken to have used the one that it was given.
  const unsaid = asked === undefined ? noSeed : nthSeed(Number(asked), index);
  // What is no seed is not made one: the core refuses it.
  const said = typeof image.seed === "number" ? image.seed : Number.NaN;
  const seed = image.seed == null ? unsaid : said;
  return inlineImage(data, seed, {
    nsfw: image.nsfw === true,
    revisedPrompt: string(image.revised_prompt),
  });
}

async function progressOf(value: JsonObject, images: number, steps: number) {
  const { queue_position } = value;
  const preview = await previewOf(value.preview);
  return progressEvent({
    index: uint32(value.index),
    images,
    step: uint32(value.step),
    steps: uint32(value.steps) || steps,
    ...(typeof queue_position === "number" && { queuePosition: uint32(queue_position) }),
    ...(preview && { preview }),
  });
}

function bodyOf(gateway: Gateway, request: TextToImageRequest): object {
  const { modelId, prompt, loras, negativePrompt, seed, includePreviews } = request;
  return {
    model_id: modelId,
    prompt,
    width: request.width,
    height: request.height,
    guidance_scale: request.guidanceScale,
    num_inference_steps: request.numInferenceSteps,
    num_images_per_prompt: request.numImagesPerPrompt,
    safety_check: request.safetyCheck !== false && gateway.checksSafety(modelId),
    ...(loras !== "" && { loras }),
    ...(negativePrompt !== "" && { negative_prompt: negativePrompt }),
    ...(seed !== undefined && seed >= 0n && { seed: Number(seed) }),
    user: gateway.userOf(request.user),
    // A gateway that does not stream images does not know the field, and answers whole.
    stream: true,
    ...(includePreviews && { include_previews: true }),
  };
}
