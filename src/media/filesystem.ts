/** Images as files in one folder, until they are too old or too many. */
import { open, readdir, rename, rm, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LintelError } from "../core/errors.js";
import type { Logger } from "../core/log.js";
import type { MediaStore, StoredMedia } from "../core/media.js";
import { openDirectory } from "./directory.js";
import { newName, typeOfName } from "./name.js";

/** Settings of the store. */
export interface FilesystemSettings {
  /** The folder. Default: `lintel/media` in the user's state folder. */
  readonly directory?: string | undefined;
  /** How long an image is kept, milliseconds. */
  readonly ttlMs: number;
  /** Size of all images together, bytes. */
  readonly maxBytes: number;
  /** Where callers reach the gateway, without a slash at the end. Asked for with every image. */
  readonly baseUrl: () => string;
  readonly log: Logger;
  /** The time, milliseconds since the epoch. Default: the system's. */
  readonly now?: () => number;
  /** Time between two sweeps, milliseconds. Default: a minute. */
  readonly sweepMs?: number;
}

/** A store, and its housekeeping by hand. */
export interface FilesystemMedia extends MediaStore {
  /** The folder. */
  readonly directory: string;
  /** Removes what is too old, and then the oldest until the rest fits. */
  sweep(): Promise<void>;
}

/** A file that is being written. */
const draftPattern = /^\.[0-9a-f]{32}\.[a-z]+\.tmp$/;

/** Age at which such a file was left over by a process that died, milliseconds. */
const draftMs = 60_000;

/** How full the store is after a sweep that made room: the next image shall not sweep again. */
const lowWater = 0.9;

/**
 * Opens the store. Other files in its folder are left alone.
 * @throws Error if the folder that was asked for can't be written to
 */
export async function filesystemMedia(settings: FilesystemSettings): Promise<FilesystemMedia> {
  const directory = await openDirectory(settings.directory, settings.log);
  return new FilesystemStore(directory.path, directory.temporary, settings);
}

class FilesystemStore implements FilesystemMedia {
  readonly directory: string;
  readonly #temporary: boolean;
  readonly #settings: FilesystemSettings;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  /** Bytes of the images that are there, as far as is known between two sweeps. */
  #stored = 0;
  /** Bytes of the images that are being written. */
  #pending = 0;
  #sweeping: Promise<void> | undefined;

  constructor(directory: string, temporary: boolean, settings: FilesystemSettings) {
    this.directory = directory;
    this.#temporary = temporary;
    this.#settings = settings;
    this.#now = settings.now ?? Date.now;
    this.#timer = setInterval(() => this.sweep(), settings.sweepMs ?? 60_000);
    this.#timer.unref();
    this.sweep();
  }

  async put(data: Uint8Array, mimeType: string): Promise<string> {
    const name = newName(mimeType);
    const draft = join(this.directory, `.${name}.tmp`);
    const bytes = data.byteLength;
    this.#pending += bytes;
    try {
      await this.#makeRoom();
      await this.#write(draft, data);
      await rename(draft, join(this.directory, name));
      this.#stored += bytes;
    } catch (cause) {
      await rm(draft, { force: true }).catch(() => {});
      throw new LintelError("internal", "the image could not be stored", { cause });
    } finally {
      this.#pending -= bytes;
    }
    return name;
  }

  /** The file's time is when it was stored: what its age is counted from. */
  async #write(path: string, data: Uint8Array): Promise<void> {
    const file = await open(path, "wx", 0o600);
    try {
      await writeFile(file, data);
      const seconds = this.#now() / 1000;
      await file.utimes(seconds, seconds);
    } finally {
      await file.close();
    }
  }

  async get(name: string): Promise<StoredMedia | undefined> {
    const mimeType = typeOfName(name);
    if (!mimeType) return undefined;
    const file = await open(join(this.directory, name), "r").catch(ifMissing);
    if (!file) return undefined;
    try {
      const { mtimeMs } = await file.stat();
      if (this.#expired(mtimeMs)) return undefined;
      return { data: await file.readFile(), mimeType };
    } finally {
      await file.close();
    }
  }

  url(name: string): string {
    return `${this.#settings.baseUrl()}/media/${name}`;
  }

  async delete(name: string): Promise<void> {
    if (typeOfName(name)) await unlink(join(this.directory, name)).catch(ifMissing);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
    if (this.#temporary) await rm(this.directory, { recursive: true, force: true });
  }

  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep()
      .catch((err) => this.#settings.log.error({ err }, "images could not be swept"))
      .finally(() => {
        this.#sweeping = undefined;
      });
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const images = await this.#scan();
    let left = images.reduce((sum, { bytes }) => sum + bytes, 0);
    const { maxBytes } = this.#settings;
    const target = left + this.#pending > maxBytes ? maxBytes * lowWater : maxBytes;
    for (const { name, bytes, storedAt } of images) {
      if (!this.#expired(storedAt) && left + this.#pending <= target) break;
      await this.delete(name);
      left -= bytes;
    }
    this.#stored = left;
  }

  /** The images, oldest first. Removes what a process that died left half written. */
  async #scan() {
    const images: { name: string; bytes: number; storedAt: number }[] = [];
    for (const name of await readdir(this.directory)) {
      const draft = draftPattern.test(name);
      if (!draft && !typeOfName(name)) continue;
      const path = join(this.directory, name);
      const found = await stat(path).catch(ifMissing);
      if (!found) continue;
      if (!draft) images.push({ name, bytes: found.size, storedAt: found.mtimeMs });
      else if (this.#now() - found.mtimeMs > draftMs) await rm(path, { force: true });
    }
    return images.sort((a, b) => a.storedAt - b.storedAt);
  }

  #expired(storedAt: number): boolean {
    return this.#now() - storedAt >= this.#settings.ttlMs;
  }

  /** Lets old images go if those that come would be too much. */
  async #makeRoom(): Promise<void> {
    // Twice: a sweep that runs already may have looked before this image came.
    for (let i = 0; i < 2 && this.#stored + this.#pending > this.#settings.maxBytes; i++) {
      await this.sweep();
    }
  }
}

/** Nothing, for a file that is not there. */
function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
