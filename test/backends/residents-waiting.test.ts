/** Image models under a memory budget that wait for each other's calls: nobody waits for ever. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import type { Admit, ResidentBackend } from "../../src/backends/resident.js";
import { Residents } from "../../src/backends/residents.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { ParityModels } from "./onnx/parity.js";
import { requestOf } from "./onnx/support.js";
import { callOf } from "./subject.js";

type Changes = Parameters<typeof requestOf>[0];

const opened: ResidentBackend[] = [];
let models: ParityModels;
beforeAll(async () => {
  models = await ParityModels.unpack("sd15");
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((backend) => backend.close()));
});
afterAll(() => models.remove());

function open(id: string, admit: Admit): ResidentBackend {
  const path = models.folder("sd15");
  const config = { type: "onnx", name: id, id, path, threads: 1, load: "lazy" } as const;
  const backend = createOnnxBackend(config, { log: silent, admit });
  opened.push(backend);
  return backend;
}

/** Makes a picture. @param seen told of each event's kind */
async function draw(
  { handlers }: ResidentBackend,
  changes: Changes,
  signal?: AbortSignal,
  seen: (event: string | undefined) => void = () => {},
): Promise<void> {
  const call = callOf("streamTextToImage", requestOf(changes), signal);
  for await (const batch of handlers.streamTextToImage?.(call) ?? []) {
    for (const { event } of batch) seen(event.case);
  }
}

/** A call that runs until it is stopped. Resolves, once it runs, with what stops it. */
async function occupy(backend: ResidentBackend): Promise<() => Promise<void>> {
  const controller = new AbortController();
  let ended: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve) => {
    ended = draw(backend, long, controller.signal, () => resolve()).catch(() => {});
  });
  return async () => {
    controller.abort(new LintelError("cancelled", "the test is done with it"));
    await ended;
  };
}

const long = { width: 128, height: 128, numInferenceSteps: 150, numImagesPerPrompt: 8 } as const;
const short = { numInferenceSteps: 1 } as const;
const fused = { ...short, loras: '{"plain": 1}' } as const;

/** Two models in memory, where LoRAs have no room beside the other, and a third; and who was asked to leave. */
async function stage() {
  const alone = open("alone", async () => {}).residents[0]?.bytes ?? 0;
  const leaves: string[] = [];
  const info = (fields: object) => void leaves.push(Object.values(fields).join(" "));
  const { admit } = new Residents(2.05 * alone, { ...silent, info });
  const [a, b, c] = [open("a", admit), open("b", admit), open("c", admit)];
  await a.ready?.("a", never);
  await b.ready?.("b", never);
  return { a, b, c, leaves };
}

it("a call that wants room for its LoRA goes on before a load that waits for it", async () => {
  const { a, b, c, leaves } = await stage();
  const freeA = await occupy(a);
  const freeB = await occupy(b);
  const calls = [draw(b, fused), draw(c, short)];
  // Then another waits for the model that leaves, and is in front of whoever asks it to leave next.
  await expect.poll(() => leaves).toEqual(["a c 1"]);
  calls.push(draw(a, short));
  await freeB();
  await expect.poll(() => leaves).toEqual(["a c 1", "a b 3"]);
  await freeA();
  await Promise.all(calls);
});

it("of two calls that want room for LoRAs at once one is to come again", async () => {
  const { a, b, leaves } = await stage();
  const freeA = await occupy(a);
  const freeB = await occupy(b);
  const calls = [draw(a, fused), draw(b, fused)];
  await freeA();
  await expect.poll(() => leaves).toEqual(["b a 2"]);
  await freeB();
  await expect(calls[1]).rejects.toMatchObject({
    code: "overloaded",
    message: "b: the memory budget has no room for more now",
    retryAfter: 1,
  });
  await calls[0];
});
