/** The moderation endpoint of an OpenAI-compatible API as a safety checker. */
import { imageInput, type ModerationSettings, Moderations } from "./moderations.js";
import type { OwnedChecker } from "./open.js";

/** Asks about each image, inline. */
export function moderationChecker(settings: ModerationSettings): OwnedChecker {
  const moderations = new Moderations(settings);
  return {
    async isHarmful({ buffer, byteOffset, byteLength }, signal) {
      const data = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
      const image = imageInput(`data:image/png;base64,${data}`);
      const results = await moderations.ask([image], signal);
      return results.some(({ flagged }) => flagged);
    },
    close: () => moderations.close(),
  };
}
