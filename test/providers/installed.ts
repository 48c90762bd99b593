/** Which packages are installed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const { version } = JSON.parse(
  readFileSync(
    join(process.env.LINTEL_PROVIDERS ?? "", "node_modules/@ai-sdk/provider/package.json"),
    "utf8",
  ),
) as { version: string };

/** Whether they are those of AI SDK 7, not of AI SDK 6. */
export const isNewest = Number.parseInt(version, 10) >= 4;

/** What is different in AI SDK 7. */
export const since7 = <T>(before: T, now: T): T => (isNewest ? now : before);
