/** Holds what a model made against what the caller asked for: servers change sizes and seeds without a word. */
import type { Media } from "../../gen/lintel/v1/image_pb.js";
import type { Call } from "./call.js";
import { asksForSize } from "./defaults.js";
import { LintelError } from "./errors.js";
import { noSeed } from "./image-events.js";
import { answering } from "./routing/target.js";
import { isSeed } from "./seeds.js";

/**
 * Checks an image. A size at the contract's default counts as not set, and then
 * the model's own may be another.
 * @param seed the one that the image should have; absent: the caller asked for none
 * @param check throws for a picture that is none: the caller did not ask wrongly for what a server breaks
 * @throws LintelError `unsupported_parameter` that names what is not as asked, but
 *   for models whose unsupported parameters are ignored: there it is a warning;
 *   `upstream_failed` for a seed that no image can have, and as `check` says
 */
export function checkMade(
  call: Call<"streamTextToImage">,
  { data, seed: used }: Media,
  seed: number | undefined,
  check: (png: Uint8Array) => void,
): void {
  if (used !== noSeed && !isSeed(used)) {
    throw new LintelError("upstream_failed", "the model server answered with a seed that is none");
  }
  const { width, height } = asksForSize(call.request) ? call.request : {};
  const made = sizeOf(data);
  const supports = answering(call)?.supports ?? [];
  for (const [name, asked, is] of [
    ["width", width, made?.width],
    ["height", height, made?.height],
  ] as const) {
    // What the model does not support was refused, or ignored with a warning.
    if (asked === undefined || !supports.includes(name)) continue;
    if (made === undefined || asked === is) continue;
    check(data);
    refuse(call, name, `the model server made ${made.width}x${made.height}`);
  }
  if (seed === undefined || used === seed) return;
  refuse(
    call,
    "seed",
    used === noSeed ? "this model does not support it" : "the model server used another",
  );
}

function refuse(call: Call<"streamTextToImage">, param: string, why: string): void {
  const message = `${param}: ${why}`;
  if (call.modelSettings?.unsupported === "ignore") call.warnings.add(message);
  else throw new LintelError("unsupported_parameter", message, { param });
}

/** What a PNG says of itself, pixels; `undefined` for what is none: that is found out later. */
function sizeOf(png: Uint8Array): { readonly width: number; readonly height: number } | undefined {
  if (png.length < 24) return undefined;
  const view = new DataView(png.buffer, png.byteOffset);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}
