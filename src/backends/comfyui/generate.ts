/** Makes images: a prompt for each, since a batch of ComfyUI's would share one seed. */

import { randomUUID } from "node:crypto";
import { unlessAborted } from "../../core/abort.js";
import type { Call } from "../../core/call.js";
import type { CallSignal } from "../../core/cancellation.js";
import { imageDefaults } from "../../core/defaults.js";
import { imageEvent, inlineImage, noSeed, progressEvent } from "../../core/image-events.js";
import { firstSeed, nthSeed } from "../../core/seeds.js";
import { callHeaders } from "../call-headers.js";
import { LargeAnswer } from "../http/large.js";
import { previewPng } from "../http/preview.js";
import type { Events } from "../image-server.js";
import { Progress } from "../progress.js";
import { Prompt } from "./prompt.js";
import type { Served, Server } from "./server.js";
import type { Socket } from "./socket.js";
import { fillWorkflow, type PlacedLora, type Workflow } from "./workflow.js";

/** What all images of one call share. */
interface Job {
  readonly server: Server;
  readonly call: Call<"streamTextToImage">;
  readonly signal: CallSignal;
  readonly model: Served;
  readonly loras: readonly PlacedLora[];
  readonly images: number;
  readonly steps: number;
  readonly socket: Socket;
  readonly client: string;
}

/** Makes the images of one call. */
export async function* generate(
  server: Server,
  call: Call<"streamTextToImage">,
  signal: CallSignal,
): Events {
  const { request } = call;
  const model = server.find(request.modelId);
  const loras = await unlessAborted(server.lorasFor(request.loras, signal, call.connectMs), signal);
  const images = request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt;
  const steps = request.numInferenceSteps ?? imageDefaults.numInferenceSteps;
  const client = randomUUID();
  const opening = server.open(client, call.connectMs);
  // A socket that opens after the caller left is not left open.
  opening.then((opened) => signal.aborted && opened.close());
  const socket = await unlessAborted(opening, signal);
  try {
    const job = { server, call, signal, model, loras, images, steps, socket, client };
    const first = firstSeed(request.seed);
    for (let i = 0; i < images; i++) yield* make(job, i, nthSeed(first, i));
  } finally {
    socket.close();
  }
}

async function* make(job: Job, index: number, seed: number): Events {
  const { server, call, signal, images, steps, socket, client } = job;
  const { map } = job.model;
  const workflow = workflowOf(job, seed);
  const { poll } = server.config;
  const headers = callHeaders(job.call) ?? {};
  const sent = { headers, connect: call.connectMs };
  const prompt = server.track(
    new Prompt({ site: server, socket, client, workflow, map, poll, ...sent }),
  );
  const progress = new Progress(index, 1, steps);
  let preview: Buffer | undefined;
  let ahead: number | undefined;
  const large = new LargeAnswer(server.transport, signal);
  try {
    for await (const sight of prompt.sights(signal)) {
      if ("preview" in sight) preview = sight.preview;
      else if ("ahead" in sight) {
        if (sight.ahead === ahead) continue;
        ahead = sight.ahead;
        yield [progressEvent({ index, images, step: 0, steps, queuePosition: ahead })];
      } else {
        const at = progress.at(sight.fraction);
        if (!at) continue;
        const shown = call.request.includePreviews ? await previewPng(preview) : undefined;
        preview = undefined;
        yield [progressEvent({ ...at, images, steps, ...(shown && { preview: shown }) })];
      }
    }
    const png = await prompt.image(signal, large);
    large.leave();
    const last = progress.done(0);
    yield [
      ...(last ? [progressEvent({ ...last, images, steps })] : []),
      imageEvent(index, inlineImage(png, map.seed ? seed : noSeed)),
    ];
  } finally {
    large.leave();
    void server.stop(prompt);
  }
}

function workflowOf({ call, model, loras, steps }: Job, seed: number): Workflow {
  const { request } = call;
  const values = {
    prompt: request.prompt ?? "",
    negative_prompt: request.negativePrompt,
    width: request.width ?? imageDefaults.width,
    height: request.height ?? imageDefaults.height,
    guidance_scale: request.guidanceScale ?? imageDefaults.guidanceScale,
    num_inference_steps: steps,
    seed,
    checkpoint: model.checkpoint,
  };
  return fillWorkflow(model.workflow, model.map, values, loras);
}
