/** Makes the safety checker that the configuration describes. */
import type { SafetyConfig } from "../config/safety.js";
import type { Logger } from "../core/log.js";
import type { SafetyChecker } from "../core/media.js";

/** A checker, and its end. */
export interface OwnedChecker extends SafetyChecker {
  close(): Promise<void>;
}

/**
 * `undefined` if none is configured. Models load in the background: the first check waits.
 * @param log is told of a model that can't be loaded
 */
export async function openChecker(
  checker: SafetyConfig["checker"],
  log: Logger,
): Promise<OwnedChecker | undefined> {
  switch (checker?.type) {
    case undefined:
      return undefined;
    case "moderation":
      return (await import("./moderation.js")).moderationChecker(checker);
    case "classifier": {
      const { path: folder, labels, threshold } = checker;
      const { ThreadChecker } = await import("./thread.js");
      return new ThreadChecker({ kind: "classifier", folder, labels, threshold }, log);
    }
    case "nsfwjs": {
      const { ThreadChecker } = await import("./thread.js");
      const { model, labels, threshold } = checker;
      return new ThreadChecker({ kind: "nsfwjs", model, labels, threshold }, log);
    }
  }
}
