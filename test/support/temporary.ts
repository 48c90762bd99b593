/** One temporary folder for a run of the tests and all that they start, gone when they end. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const name = "lintel-tests-";

/** @returns what takes the folder away; `undefined` where another project of the run has made it */
export default function temporaryFolder(): (() => void) | undefined {
  if (basename(tmpdir()).startsWith(name)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), name));
  // Servers that run as another user keep their own folders in it.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  // Programs that were killed may still write for a moment.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
