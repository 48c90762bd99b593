/** The model server of the bench, `upstream.c`. */
import { compile } from "../compile.js";
import { otherCore, type Pinned, pinned } from "../cores.js";
import { writeImage } from "./image.js";

/** Compiles and starts it. @param folder for its program and its image */
export function startUpstream(folder: string, port: number): Pinned {
  const program = compile("bench/upstream/upstream.c", folder);
  return pinned(otherCore, program, [String(port)], { BENCH_IMAGE: writeImage(folder) });
}
