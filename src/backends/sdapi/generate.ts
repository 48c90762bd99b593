/** Makes images: in turn, a few at once, with their progress. */

import { randomUUID } from "node:crypto";
import { unlessAborted } from "../../core/abort.js";
import type { Call } from "../../core/call.js";
import type { CallSignal } from "../../core/cancellation.js";
import { imageDefaults } from "../../core/defaults.js";
import { imageEvent, inlineImage, progressEvent } from "../../core/image-events.js";
import { firstSeed, nthSeed, seeds } from "../../core/seeds.js";
import { callHeaders } from "../call-headers.js";
import { nonsense } from "../http/failure.js";
import { previewOf } from "../http/preview.js";
import type { Events } from "../image-server.js";
import { Progress } from "../progress.js";
import { checkPromptLengths } from "../sdcpp-prompts.js";
import { readTxt2img } from "./answer.js";
import { type Dialect, dialects } from "./dialect.js";
import type { Checkpoint, Inventory } from "./inventory.js";
import type { Turn } from "./lane.js";
import type { WeightedLora } from "./loras.js";
import { sentSeed, writeTxt2img } from "./request.js";
import { Run } from "./run.js";
import type { Server } from "./server.js";
import { Watch } from "./watch.js";

/** Images that are made by one request: from `first` on. */
interface Part {
  readonly first: number;
  readonly count: number;
  readonly seed: number;
}

/** What all parts of one call share. */
interface Job {
  readonly server: Server;
  readonly call: Call<"streamTextToImage">;
  readonly signal: CallSignal;
  readonly inventory: Inventory;
  readonly checkpoint: Checkpoint;
  readonly loras: readonly WeightedLora[];
  readonly images: number;
  readonly steps: number;
}

/** Makes the images of one call. */
export async function* generate(
  server: Server,
  call: Call<"streamTextToImage">,
  signal: CallSignal,
): Events {
  const { request } = call;
  const { inventory, checkpoint } = server.find(request.modelId);
  if (dialects[inventory.dialect].cpp) checkPromptLengths(request);
  const loras = await unlessAborted(server.lorasFor(request.loras, signal, call.connectMs), signal);
  const images = request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt;
  const steps = request.numInferenceSteps ?? imageDefaults.numInferenceSteps;
  yield* inTurn({ server, call, signal, inventory, checkpoint, loras, images, steps });
}

/** Waits for the call's turn, and tells where it stands meanwhile. */
async function* inTurn(job: Job): Events {
  const turn = job.server.lane.enter();
  let stopped: Promise<void> | undefined;
  try {
    yield* standing(turn, job);
    const parts = partsOf(job);
    for (const part of parts) {
      // Not with the generator: whoever reads slowly holds nobody up.
      const over = part === parts.at(-1) ? () => turn.leave() : undefined;
      const run = job.server.track(runOf(job, part, over));
      try {
        yield* make(job, part, run);
      } finally {
        stopped = job.server.stop(run);
      }
    }
  } finally {
    // The server is busy with what it is being told to stop.
    void (stopped ?? Promise.resolve()).then(() => turn.leave());
  }
}

async function* standing(turn: Turn, { signal, images, steps }: Job): Events {
  for (let place = turn.place; place.ahead > 0; place = turn.place) {
    yield [progressEvent({ index: 0, images, step: 0, steps, queuePosition: place.ahead })];
    await unlessAborted(place.moved, signal);
  }
}

function partsOf({ server, call, inventory, images }: Job): Part[] {
  const most = dialects[inventory.dialect].batches ? server.config.batch : 1;
  const seed = firstSeed(call.request.seed);
  const parts: Part[] = [];
  for (let first = 0; first < images; first += parts.at(-1)?.count ?? 1) {
    const own = nthSeed(seed, first);
    // Servers don't know that seeds begin again at 0: no part goes beyond the last one.
    const count = Math.min(most, images - first, seeds - own);
    parts.push({ first, count, seed: own });
  }
  return parts;
}

function runOf(
  { server, call, inventory, checkpoint, loras }: Job,
  part: Part,
  over?: () => void,
): Run {
  const { config } = server;
  const { request } = call;
  const dialect = dialects[inventory.dialect];
  const task = inventory.tasks ? `task(lintel-${randomUUID()})` : undefined;
  const { seed, count: images } = part;
  return new Run({
    site: server,
    watch: new Watch(server, dialect, task),
    body: writeTxt2img({ request, checkpoint, loras, seed, images, task }, dialect, config),
    headers: callHeaders(call) ?? {},
    connect: call.connectMs,
    images,
    poll: config.poll,
    previews: request.includePreviews,
    ...(over && { over }),
  });
}

async function* make(job: Job, part: Part, run: Run): Events {
  const { images, steps, inventory, checkpoint } = job;
  const progress = new Progress(part.first, part.count, steps);
  let shown: string | undefined;
  let interrupted = false;
  for await (const sight of run.sights(job.signal)) {
    if ("ahead" in sight) {
      const { first: index } = part;
      yield [progressEvent({ index, images, step: 0, steps, queuePosition: sight.ahead })];
      continue;
    }
    interrupted ||= sight.interrupted;
    const at = progress.at(sight.fraction);
    if (!at) continue;
    const preview = sight.preview === shown ? undefined : await previewOf(sight.preview);
    shown = sight.preview;
    yield [progressEvent({ ...at, images, steps, ...(preview && { preview }) })];
  }
  const answer = await unlessAborted(run.answer(), job.signal);
  if (interrupted) throw nonsense("was interrupted in its work");
  const made = await readTxt2img(answer, part.count, checkpoint, inventory.checkpoints);
  for (const [i, { png, seed }] of made.entries()) {
    const index = part.first + i;
    const last = progress.done(i);
    yield [
      ...(last ? [progressEvent({ ...last, images, steps })] : []),
      imageEvent(index, inlineImage(png, seedOf(part.seed + i, seed, dialects[inventory.dialect]))),
    ];
  }
}

/** The seed of an image as callers know it: the one that they asked for, if it is what was sent for that. */
const seedOf = (asked: number, told: number | undefined, dialect: Dialect): number =>
  told === undefined || told === sentSeed(asked, dialect) ? asked : told;
