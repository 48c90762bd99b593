/** The thread that blurs one picture. */
import { parentPort, workerData } from "node:worker_threads";
import { blurPng } from "./blur.js";
import type { Blurred } from "./blurring.js";

if (parentPort) {
  const said: Blurred = await blurPng(workerData as Uint8Array).then(
    (png) => ({ png }),
    (thrown) => ({ problem: thrown instanceof Error ? thrown.message : String(thrown) }),
  );
  parentPort.postMessage(said);
}
