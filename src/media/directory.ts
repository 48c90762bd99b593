/** The folder for images. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "../core/log.js";
import { defaultStateDirectory, openFolder } from "../state/directory.js";

/** A folder that can be written to. */
export interface Directory {
  readonly path: string;
  /** Whether it is this process's own and goes with it. */
  readonly temporary: boolean;
}

/** The folder for images in the user's state folder. */
export function defaultDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return join(defaultStateDirectory(env), "media");
}

/**
 * Makes the folder. Where the default can't be written to, a temporary one takes
 * its place; a folder that was asked for by name is never replaced.
 * @throws Error with a `code` if `configured` can't be written to, or neither of the others
 */
export async function openDirectory(
  configured: string | undefined,
  log: Logger,
  preferred: string = defaultDirectory(),
): Promise<Directory> {
  const { path, problem: code } = await openFolder("media.directory", configured, preferred);
  if (code === undefined) return { path, temporary: false };
  const temporary = await mkdtemp(join(tmpdir(), "lintel-media-")).catch((cause) => {
    const places = `${path} (${code}) and ${tmpdir()} (${cause.code}) can't be written to`;
    const message = `media.directory: ${places}; name a folder, or set media.delivery: data`;
    throw Object.assign(new Error(message, { cause }), { code: cause.code });
  });
  log.warn({ path, code, temporary }, "no folder for images, they are lost at the end");
  return { path: temporary, temporary: true };
}
