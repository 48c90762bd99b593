/**
 * The thread in which a model runs, because a run of a graph blocks. Loads the
 * model of `workerData`, then takes orders one after the other. Leaves by
 * itself and never in the middle of a run: ONNX Runtime aborts the whole
 * process if its thread is ended then.
 */
import { on } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { Pipeline } from "./pipeline.js";
import { failureOf, JobProblem, PassingProblem } from "./problem.js";
import type { ImageEvent, Order, Report, ThreadSettings } from "./protocol.js";
import { loadRuntime } from "./runtime.js";

/** What stops a job; never seen outside of this file. */
const stopped = Symbol("stopped");

async function serve(port: NonNullable<typeof parentPort>, settings: ThreadSettings) {
  const report = (message: Report, transfer: ArrayBuffer[] = []) =>
    port.postMessage(message, transfer);
  const emit = (event: ImageEvent) => report({ type: "event", event }, buffersOf(event));
  // Listens from now on: orders that arrive while the model loads are kept.
  const orders = on(port, "message") as AsyncIterableIterator<[Order]>;

  let closed = false;
  const admit = async (memory: number) => {
    report({ type: "room", memory });
    const [order] = (await orders.next()).value;
    if (order.type === "close") closed = true;
    if (order.type !== "room") throw stopped;
    if (!order.refusal) return;
    const { message, passing } = order.refusal;
    throw passing
      ? new PassingProblem(message)
      : new JobProblem("loras", `with them fused: ${message}`);
  };

  let pipeline: Pipeline;
  try {
    pipeline = await Pipeline.load(await loadRuntime(settings.packages), settings, admit);
  } catch (error) {
    report({ type: "unloadable", failure: failureOf(error, "the model could not be loaded") });
    return;
  }
  const { unfused } = pipeline;
  const { provider, refusal } = pipeline.device;
  report({ type: "loaded", memory: pipeline.memory, where: { provider, refusal, unfused } });

  for await (const [order] of orders) {
    // Answers are taken where they are asked for.
    if (order.type !== "run") break;
    const flag = new Int32Array(order.aborted);
    const checkpoint = () => {
      if (Atomics.load(flag, 0) !== 0) throw stopped;
    };
    try {
      await pipeline.run(order.job, emit, checkpoint);
      report({ type: "ended", memory: pipeline.memory });
    } catch (error) {
      const failure = failureOf(error, "the image model failed");
      report({ type: "ended", memory: pipeline.memory, ...(error !== stopped && { failure }) });
    }
    if (closed) break;
  }
  await pipeline.close();
}

/** What changes hands instead of being copied. */
function buffersOf(event: ImageEvent): ArrayBuffer[] {
  if (event.type === "image") return [event.data.buffer];
  return event.type === "progress" && event.preview ? [event.preview.buffer] : [];
}

if (parentPort) {
  await serve(parentPort, workerData as ThreadSettings);
  parentPort.close();
}
