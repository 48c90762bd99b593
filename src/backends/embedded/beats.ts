/** The child's side of the watchdog. */
import type { EngineReport } from "../engine-progress.js";
import type { Report } from "./mark.js";

/** Tells the process that started this one; resolves once it is on its way. */
export const sendToParent = (report: Report): Promise<void> =>
  new Promise((resolve) => {
    // Without a channel this process is about to leave.
    if (process.connected) process.send?.(report, () => resolve());
    else resolve();
  });

/** Answers whoever asks whether this process is there. @param work what its engines are at */
export function answerBeats(work: () => readonly EngineReport[]): void {
  process.on("message", ({ lintel }: { readonly lintel?: string }) => {
    if (lintel === "beat") void sendToParent({ lintel: "alive", work: work() });
  });
  // Listening alone is no reason to live on.
  process.channel?.unref();
}
