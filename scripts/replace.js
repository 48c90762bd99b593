/** Files that others may be reading. */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Puts a file in place at once. A command stays one: npm makes it executable only when it links it. */
export function replace(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.tmp`;
  const command = typeof contents === "string" && contents.startsWith("#!");
  writeFileSync(draft, contents, { mode: command ? 0o755 : 0o644 });
  renameSync(draft, path);
}
