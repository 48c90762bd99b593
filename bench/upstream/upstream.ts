/** The model server of the bench, `upstream.c`. */
import { setTimeout } from "node:timers/promises";
import { listens } from "../../src/listens.js";
import { compile } from "../compile.js";
import { type Cores, otherCore, type Pinned, pinned } from "../cores.js";
import { writeImage } from "./image.js";

/** How long it may take to listen, milliseconds. */
const startMs = 10_000;

/**
 * Compiles and starts it; resolves once it listens.
 * @param folder for its program and its image
 */
export async function startUpstream(
  folder: string,
  port: number,
  core: Cores = otherCore,
): Promise<Pinned> {
  const program = compile("bench/upstream/upstream.c", folder);
  const started = pinned(core, program, [String(port)], { BENCH_IMAGE: writeImage(folder) });
  const until = Date.now() + startMs;
  while ((await listens(new URL(`http://127.0.0.1:${port}`))) !== "yes") {
    if (Date.now() > until) {
      await started.stop();
      throw new Error(`the model server does not listen on ${port}`);
    }
    await setTimeout(10);
  }
  return started;
}
