/** What is done to each image before the caller gets it: checked, stored, or refused. */
import type { Media } from "../../gen/lintel/v1/image_pb.js";
import type { Call } from "./call.js";
import { imageDefaults } from "./defaults.js";
import { LintelError } from "./errors.js";
import { warn } from "./fit.js";
import type { MediaStore, SafetyChecker } from "./media.js";

/** Makes the caller's image out of the model's. */
export type Finish = (call: Call<"streamTextToImage">, media: Media) => Promise<Media>;

/** What finishing needs from outside of the core. */
export interface FinishTools {
  /** Where images are kept; absent: they are answered inline only. */
  readonly store?: MediaStore | undefined;
  readonly checker?: SafetyChecker | undefined;
  /** Checks a PNG and drops its metadata; throws `upstream_failed` for a broken one. */
  readonly sanitize: (png: Uint8Array) => Uint8Array;
  /** Makes a PNG unrecognisable. */
  readonly blur: (png: Uint8Array) => Promise<Uint8Array>;
  /** What happens to a harmful image. */
  readonly action: "flag" | "blur" | "block";
}

/** The finishing for one configuration. */
export function finisher({ store, checker, sanitize, blur, action }: FinishTools): Finish {
  return async (call, made) => {
    let data = sanitize(made.data);
    const nsfw = await isHarmful(call, made, data, checker);
    if (nsfw && action === "block") {
      throw new LintelError("content_blocked", "the safety check found an image harmful");
    }
    if (nsfw && action === "blur") data = await blur(data);
    const mimeType = "image/png";
    const media: Media = { ...made, url: "", nsfw, data, mimeType };
    if (!store) return media;
    media.url = await store.put(data, mimeType);
    if (!call.request.includeData) media.data = new Uint8Array(0);
    return media;
  };
}

async function isHarmful(
  call: Call<"streamTextToImage">,
  made: Media,
  png: Uint8Array,
  checker: SafetyChecker | undefined,
): Promise<boolean> {
  if (!(call.request.safetyCheck ?? imageDefaults.safetyCheck)) return false;
  if (checker) return checker.isHarmful(png, call.signal);
  // A model may bring its own check; then its word counts.
  if (call.targets?.[0]?.model.supports.includes("safety_check")) return made.nsfw;
  warn(call.warnings, "safety_check: no checker is configured, the images were not checked");
  return false;
}
