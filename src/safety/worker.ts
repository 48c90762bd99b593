/** The checkers' thread: decodes images and asks the model, one after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { PNG } from "pngjs";
import type { Classify, Picture, Question, ThreadSettings, Verdict } from "./protocol.js";

function decode(png: Uint8Array): Picture {
  const { data, width, height } = PNG.sync.read(Buffer.from(png));
  const rgb = new Uint8ClampedArray(width * height * 3);
  for (let i = 0, at = 0; i < data.length; i += 4) {
    rgb[at++] = data[i] as number;
    rgb[at++] = data[i + 1] as number;
    rgb[at++] = data[i + 2] as number;
  }
  return { rgb, width, height };
}

async function load(settings: ThreadSettings): Promise<Classify> {
  if (settings.kind === "nsfwjs") return (await import("./nsfwjs.js")).loadNsfwjs(settings);
  return (await import("./classifier.js")).loadClassifier(settings.folder, settings.labels);
}

const wordsOf = (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown));

if (parentPort) {
  const port = parentPort;
  const settings = workerData as ThreadSettings;
  const say = (verdict: Verdict) => port.postMessage(verdict);
  const model = load(settings);
  // Whoever asks later still gets it.
  model.catch((thrown) => say({ problem: wordsOf(thrown) }));
  let before: Promise<unknown> = Promise.resolve();
  port.on("message", ({ id, png }: Question) => {
    before = before.then(async () => {
      try {
        const certainties = await (await model)(decode(png));
        const sum = settings.labels.reduce((all, label) => all + (certainties.get(label) ?? 0), 0);
        say({ id, harmful: sum >= settings.threshold });
      } catch (thrown) {
        say({ id, problem: wordsOf(thrown) });
      }
    });
  });
}
