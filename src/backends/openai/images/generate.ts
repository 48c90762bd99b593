/** Makes images on one server of `/v1/images/generations`. */
import type { StreamTextToImageResponse } from "../../../../gen/lintel/v1/image_pb.js";
import type { Call } from "../../../core/call.js";
import { imageDefaults } from "../../../core/defaults.js";
import {
  doneEvent,
  imageEvent,
  inlineImage,
  madeEvents,
  noSeed,
  progressEvent,
} from "../../../core/image-events.js";
import { firstSeed, nthSeed } from "../../../core/seeds.js";
import { callHeaders } from "../../call-headers.js";
import { eventsIn } from "../../completions/events-in.js";
import { type Attempt, askWithout } from "../../completions/refusals/asking.js";
import { endUser } from "../../completions/refusals/words.js";
import { longestOfOpenai, toldUser } from "../../end-user.js";
import { extraText } from "../../extra-args.js";
import type { Answer } from "../../http/answer.js";
import { isWhole } from "../../http/ask.js";
import { brokenOff } from "../../http/failure.js";
import type { FetchImageOptions } from "../../http/fetch-image.js";
import { LargeAnswer } from "../../http/large.js";
import { checkPromptLengths } from "../../sdcpp-prompts.js";
import { aboutSize, choosesSize, insistsOnSize } from "../../size.js";
import { attempt, type Server } from "../chat.js";
import { readImageEvent, readImages } from "./answer.js";
import type { ImageProfile } from "./profile.js";
import { checkSize, optionalFields, writeImageRequest } from "./request.js";

/** Most bytes of one event: a whole image in base64, and what stands around it. */
const eventLimit = 96 * 1024 * 1024;
/** Partial images that are asked for; OpenAI makes at most 3. */
const partials = 3;

/** A server, with the way to images that it does not answer inline. */
export interface ImageServerParts extends Server {
  readonly fetching: FetchImageOptions;
  /** Longest silence between two partial images, milliseconds. */
  readonly patience: number;
}

type ImageCall = Call<"streamTextToImage">;
type Events = AsyncGenerator<readonly StreamTextToImageResponse[]>;

/** What one request to the server is about. */
interface Part {
  readonly profile: ImageProfile;
  /** Position of its first image. */
  readonly first: number;
  /** Number of its images. */
  readonly n: number;
  readonly seed: number | undefined;
  /** Number of images of the whole call. */
  readonly images: number;
}

/**
 * The images of one prompt, one request after the other: one for each image
 * where there are seeds, so that image i has seed + i; else as many at once as
 * the model makes.
 */
export async function* generateImages(server: ImageServerParts, call: ImageCall): Events {
  const { request } = call;
  const profile = await server.models.profileFor(request.modelId, call.signal);
  checkSize(request, profile);
  if (profile.server === "sdcpp") checkPromptLengths(request, extraText);
  if (!profile.bar && request.prompt?.includes("|")) {
    call.warnings.add("prompt: | has another meaning for this model, sent as a comma");
  }
  const images = request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt;
  const previews = profile.previews && request.includePreviews;
  const seeded = profile.seed && !server.models.refusedFor(request.modelId).has("seed");
  const most = seeded || previews ? 1 : profile.most;
  const start = firstSeed(request.seed);
  for (let first = 0; first < images; first += most) {
    const n = Math.min(most, images - first);
    const seed = seeded ? nthSeed(start, first) : undefined;
    const part = { profile, first, n, seed, images };
    const { answer, streams } = await ask(server, call, part, previews);
    try {
      yield begun(call, part);
      yield* streams && !isWhole(answer)
        ? streamed(call, part, answer)
        : whole(server, call, part, answer);
    } finally {
      answer.abort();
    }
  }
  yield [doneEvent([])];
}

async function* whole(
  server: ImageServerParts,
  call: ImageCall,
  part: Part,
  answer: Answer,
): Events {
  const { signal } = call;
  const large = new LargeAnswer(server.transport, signal);
  try {
    const { fetching } = server;
    const images = await readImages(answer, part.n, { fetching, signal, large });
    // The server may have refused the seed just now.
    const seedless = server.models.refusedFor(call.request.modelId).has("seed");
    const seed = seedless ? noSeed : (part.seed ?? noSeed);
    const told = { images: part.images, steps: stepsOf(call) };
    const events = images.flatMap(({ png, revisedPrompt }, i) =>
      madeEvents({ index: part.first + i, ...told }, inlineImage(png, seed, { revisedPrompt })),
    );
    large.leave();
    yield events;
  } finally {
    large.leave();
  }
}

/** One image, and what it looks like on the way. */
async function* streamed(call: ImageCall, part: Part, answer: Answer): Events {
  for await (const event of eventsIn(answer, eventLimit)) {
    const said = await readImageEvent(event);
    if (said?.kind === "partial") yield [preview(call, part, said.index, said.png)];
    if (said?.kind === "completed") {
      const { png, revisedPrompt } = said;
      yield [imageEvent(part.first, inlineImage(png, part.seed ?? noSeed, { revisedPrompt }))];
      answer.drain();
      return;
    }
  }
  throw brokenOff(undefined, "no image");
}

/** An answer, and whether a stream was asked for. */
interface Asked {
  readonly answer: Answer;
  readonly streams: boolean;
}

/** Sends the request, without what the server refuses. */
function ask(
  server: ImageServerParts,
  call: ImageCall,
  { profile, n, seed }: Part,
  previews: boolean,
): Promise<Asked> {
  const { address, models, patience } = server;
  const { request, signal, connectMs } = call;
  const user = toldUser(request.user, server.passUser, longestOfOpenai);
  const path = address.at(profile.path ?? "/images/generations");
  const headers = callHeaders(call);
  return askWithout({
    fields: () => [
      ...optionalFields,
      // Partial images, and the stream that they come in.
      ...(previews ? ["include_previews"] : []),
      ...(user === undefined ? [] : [endUser]),
      // xAI has sizes of its own, and no field for others.
      ...(insistsOnSize(call, profile.side) ? [] : ["size"]),
    ],
    known: () => models.refusedFor(request.modelId),
    ask: async (refused): Promise<Attempt<Asked>> => {
      const streams = previews && !refused.has("include_previews");
      const more = streams ? { partials } : {};
      const body = writeImageRequest(request, { profile, n, seed, refused, user, ...more });
      const asked = await attempt(server, call, {
        method: "POST",
        path,
        body,
        headers,
        signal,
        connect: connectMs,
        // Between two partial images a model may think as long as before the first.
        idle: patience,
      });
      return "answer" in asked
        ? { answer: { answer: asked.answer, streams } }
        : { ...asked, failure: () => aboutSize(asked.failure(), asked.body) };
    },
    chosen: (field) =>
      field === "size" ? choosesSize(request, profile.side) : chosen(call, field),
    learn: (field) => models.refuse(request.modelId, field),
    warnings: call.warnings,
  });
}

/** Whether the caller chose the value of a field; without a seed each request has one of ours. */
function chosen({ request, modelSettings }: ImageCall, field: string): boolean {
  const own = modelSettings?.defaults ?? {};
  const { numInferenceSteps: steps, guidanceScale: guidance } = imageDefaults;
  const values: Readonly<Record<string, boolean>> = {
    negative_prompt: request.negativePrompt !== "",
    num_inference_steps: request.numInferenceSteps !== (own.num_inference_steps ?? steps),
    guidance_scale: request.guidanceScale !== (own.guidance_scale ?? guidance),
    include_previews: request.includePreviews,
  };
  return values[field] ?? false;
}

const stepsOf = ({ request }: ImageCall) =>
  request.numInferenceSteps ?? imageDefaults.numInferenceSteps;

/** The server took the request. Not said before: until the first message another server may be asked. */
const begun = (call: ImageCall, { first, images }: Part) => [
  progressEvent({ index: first, images, step: 0, steps: stepsOf(call) }),
];

/** How far a partial image is nobody says: they are taken for evenly spread. */
function preview(call: ImageCall, part: Part, index: number, png: Uint8Array) {
  const steps = stepsOf(call);
  const step = Math.floor((steps * Math.min(index + 1, partials)) / (partials + 1));
  return progressEvent({ index: part.first, images: part.images, step, steps, preview: png });
}
