/** What is done to pictures before the caller gets them: checked, stored, or refused. */
import type { Media } from "../../gen/lintel/v1/image_pb.js";
import type { Call } from "./call.js";
import type { CallSignal } from "./cancellation.js";
import { imageDefaults } from "./defaults.js";
import { LintelError, toLintelError } from "./errors.js";
import type { MediaStore, SafetyChecker } from "./media.js";
import { checks } from "./model.js";
import { answering } from "./routing/target.js";

/** Makes the caller's pictures out of the model's. */
export interface Finish {
  /** Throws `upstream_failed` for a PNG that is broken, or too large for any caller. */
  check(png: Uint8Array): void;
  /** An image that is ready. */
  image(call: Call<"streamTextToImage">, media: Media): Promise<Media>;
  /** An image that no caller gets is not kept; should that fail, it goes when it is too old. */
  discard(call: Call, media: Media): void;
  /** A preview; empty where the caller asked for none, and for a broken one. */
  preview(call: Call<"streamTextToImage">, png: Uint8Array): Uint8Array;
  /** Whether the check of an image may keep it from the caller: then nothing may show it before. */
  mayWithhold(call: Call<"streamTextToImage">): boolean;
}

/** What finishing needs from outside of the core. */
export interface FinishTools {
  /** Where images are kept; absent: they are answered inline only. */
  readonly store?: MediaStore | undefined;
  readonly checker?: SafetyChecker | undefined;
  /** What becomes of images while the checker fails: `closed` refuses them, `open` lets them pass with a warning. */
  readonly onFailure: "closed" | "open";
  /** Checks a PNG and drops its metadata; throws `upstream_failed` for a broken or too large one. */
  readonly sanitize: (png: Uint8Array) => Uint8Array;
  /** Makes a PNG unrecognisable. */
  readonly blur: (png: Uint8Array, signal: CallSignal) => Promise<Uint8Array>;
  /** What happens to a harmful image. */
  readonly action: "flag" | "blur" | "block";
}

/** The finishing for one configuration. */
export function finisher(tools: FinishTools): Finish {
  const { store, sanitize, blur, action } = tools;
  return {
    check: sanitize,
    async image(call, made) {
      let data = sanitize(made.data);
      const nsfw = await isHarmful(call, made, data, tools);
      if (nsfw && action === "block") {
        throw new LintelError("content_blocked", "the safety check found an image harmful");
      }
      if (nsfw && action === "blur") data = await blur(data, call.signal);
      const media: Media = { ...made, url: "", nsfw, data, mimeType: "image/png" };
      if (!store || call.baseUrl === null) return media;
      media.url = await store.put(data, call.baseUrl, call.signal);
      if (!call.request.includeData) media.data = none;
      return media;
    },
    discard({ log, id }, { url }) {
      if (!store || !/^https?:/.test(url)) return;
      const name = new URL(url).pathname.replace(/^.*\//, "");
      store.delete(name).catch((err) => {
        log.debug({ id, err }, "an image that no caller gets could not be deleted");
      });
    },
    preview(call, png) {
      if (png.length === 0 || !call.request.includePreviews) return none;
      try {
        return sanitize(png);
      } catch {
        return none;
      }
    },
    mayWithhold(call) {
      if (action === "flag" || !wantsCheck(call)) return false;
      // Whichever of its targets makes them.
      return (
        tools.checker !== undefined || call.targets?.some(({ model }) => checks(model)) === true
      );
    },
  };
}

const none = new Uint8Array(0);

const wantsCheck = ({ request }: Call<"streamTextToImage">) =>
  request.safetyCheck ?? imageDefaults.safetyCheck;

async function isHarmful(
  call: Call<"streamTextToImage">,
  made: Media,
  png: Uint8Array,
  { checker, onFailure }: Pick<FinishTools, "checker" | "onFailure">,
): Promise<boolean> {
  if (!wantsCheck(call)) return false;
  // A model's own check counts, too.
  const model = answering(call);
  const own = model !== undefined && checks(model);
  if (own && made.nsfw) return true;
  if (!checker) {
    if (!own) {
      call.warnings.add("safety_check: no checker is configured, the images were not checked");
    }
    return false;
  }
  try {
    return await checker.isHarmful(png, call.signal);
  } catch (thrown) {
    call.signal.throwIfAborted();
    const { message, cause } = toLintelError(thrown);
    if (!call.attributes.uncheckable) {
      call.attributes.uncheckable = true;
      call.log.warn({ id: call.id, err: cause ?? message, onFailure }, "a safety check failed");
    }
    if (onFailure === "closed") {
      throw new LintelError("unavailable", "the safety check can't be done now", { cause: thrown });
    }
    call.warnings.add("safety_check: the checker failed, not all images were checked");
    return false;
  }
}
