/** The moderation endpoint of an OpenAI-compatible API as a safety checker. */
import { pngUrl } from "../core/base64.js";
import { imageInput, type ModerationSettings, Moderations } from "./moderations.js";
import type { OwnedChecker } from "./open.js";

/** Asks about each image, inline. */
export function moderationChecker(settings: ModerationSettings): OwnedChecker {
  const moderations = new Moderations(settings);
  return {
    async isHarmful(png, signal) {
      const image = imageInput(pngUrl(png));
      const results = await moderations.ask([image], signal);
      return results.some(({ flagged }) => flagged);
    },
    close: () => moderations.close(),
  };
}
