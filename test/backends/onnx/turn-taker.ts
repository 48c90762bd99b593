/** A thread that takes one turn, says whether it has it alone, and ends it once it is told to. */
import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { Turn } from "../../../src/backends/onnx/turns.js";

/** What the takers share. */
export interface Shared {
  readonly turns: SharedArrayBuffer;
  /** How many have their turn now, one 32-bit number. */
  readonly taken: SharedArrayBuffer;
}

if (parentPort) {
  const port = parentPort;
  const { turns, taken } = workerData as Shared;
  const having = new Int32Array(taken);
  port.postMessage("tries");
  await new Turn(turns).take(async () => {
    port.postMessage(Atomics.add(having, 0, 1) === 0 ? "alone" : "beside another");
    await once(port, "message");
    Atomics.sub(having, 0, 1);
  });
  port.close();
}
