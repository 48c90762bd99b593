/**
 * The checkers' thread: decodes images and asks the model, one after the other.
 * Leaves by itself and never in the middle of a run, for the reason that stands
 * in `backends/onnx/worker.ts`.
 */
import { setImmediate } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { decodePng } from "../media/decode.js";
import type { Picture } from "../media/pictures.js";
import type { Classify, Order, Report, ThreadSettings } from "./protocol.js";

function decode(png: Uint8Array): Picture {
  const { data, width, height } = decodePng(png);
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
  const report = (message: Report) => port.postMessage(message);
  // Whatever a package still holds open must not keep the thread.
  const leave = () => process.exit();
  // One that is named twice counts once.
  const labels = [...new Set(settings.labels)];
  let closing = false;
  /** Images that wait to be looked at. */
  const waiting = new Map<number, Uint8Array>();
  const model = load(settings);
  // Checks come one after the other, and the first one after the model.
  let before: Promise<unknown> = model.then(
    () => report({ type: "loaded" }),
    (thrown) => {
      report({ type: "unloadable", problem: wordsOf(thrown) });
      leave();
    },
  );
  port.on("message", (order: Order) => {
    if (order.type === "close") {
      closing = true;
      before.then(leave);
      return;
    }
    if (order.type === "drop") {
      waiting.delete(order.id);
      return;
    }
    const { id } = order;
    waiting.set(id, order.png);
    before = before.then(async () => {
      // Checks block: in between, no other order could come in by itself.
      await setImmediate();
      const png = waiting.get(id);
      if (closing || !png) return;
      waiting.delete(id);
      try {
        const certainties = await (await model)(decode(png));
        const sum = labels.reduce((all, label) => all + (certainties.get(label) ?? 0), 0);
        // Compared with anything, it would be harmless.
        if (Number.isNaN(sum)) throw new Error("the model's answer is not a number");
        report({ type: "verdict", id, harmful: sum >= settings.threshold });
      } catch (thrown) {
        report({ type: "failed", id, problem: wordsOf(thrown) });
      }
    });
  });
}
