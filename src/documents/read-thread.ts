/** The thread that reads one document. */
import { parentPort, workerData } from "node:worker_threads";
import type { Order, Report } from "./protocol.js";
import { readText, Unreadable } from "./text.js";

if (parentPort) {
  const report: Report = await readText(workerData as Order).then(
    (text) => ({ type: "read", ...text }),
    (thrown) =>
      thrown instanceof Unreadable
        ? { type: "refused", problem: thrown.message }
        : { type: "failed", fault: String(thrown) },
  );
  parentPort.postMessage(report);
}
