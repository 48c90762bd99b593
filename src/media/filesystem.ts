/** Images as files in one folder. */
import { open, readdir, rename, rm, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LintelError } from "../core/errors.js";
import { Refusal } from "../core/log.js";
import type { MediaStore, StoredMedia } from "../core/media.js";
import type { Clock } from "../core/routing/clock.js";
import { makeFolder } from "../state/directory.js";
import { openDirectory } from "./directory.js";
import { isName, newName, storedType } from "./name.js";
import { type Listed, Retention, type RetentionSettings } from "./retention.js";
import { StoreWatch, type Trouble } from "./watch.js";

/** Settings of the store. */
export interface FilesystemSettings extends RetentionSettings {
  /** The folder. Default: `lintel/media` in the user's state folder. */
  readonly directory?: string | undefined;
  /** Where callers reach the gateway, without a slash at the end. Asked for with every image. */
  readonly baseUrl: () => string;
  /** Of the watch over the folder. Default: the process's. */
  readonly clock?: Clock | undefined;
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

/** Bytes that are written to see whether the folder takes any: a block of a disk. */
const probeBytes = 4096;

/** What the disk said. It may say otherwise once somebody made room. */
class FolderError extends Refusal implements Trouble {
  override readonly name = "FolderError";
  readonly code: string | undefined;
  readonly passing = true;
  readonly kind: string;

  constructor(thrown: unknown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    super(message, { cause: thrown });
    this.code = code;
    this.kind = code ?? message;
  }
}

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
  readonly #baseUrl: () => string;
  readonly #retention: Retention;
  /** Whether it takes images: those that are there may be read from a disk that is full. */
  readonly #watch: StoreWatch<FolderError>;

  constructor(directory: string, temporary: boolean, settings: FilesystemSettings) {
    this.directory = directory;
    this.#temporary = temporary;
    this.#baseUrl = settings.baseUrl;
    this.#retention = new Retention(
      { elastic: false, list: () => this.#list(), delete: (name) => this.#remove(name) },
      settings,
    );
    const watched = {
      place: "folder",
      troubleOf: (thrown: unknown) => new FolderError(thrown),
      probe: () => this.#probe(),
    } as const;
    this.#watch = new StoreWatch(watched, settings.log, settings.clock);
  }

  async put(data: Uint8Array, baseUrl = this.#baseUrl()): Promise<string> {
    const name = newName();
    const write = () =>
      this.#draft(name, data, (draft) => rename(draft, join(this.directory, name)));
    try {
      await this.#watch.ask(() => this.#retention.store(data.byteLength, write));
    } catch (cause) {
      throw new LintelError("internal", "the image could not be stored", { cause });
    }
    return `${baseUrl}/media/${name}`;
  }

  #probe(): Promise<void> {
    return this.#draft(newName(), Buffer.alloc(probeBytes), (draft) => unlink(draft));
  }

  /** Writes a file under another name, which `then` ends. What fails leaves nothing behind. */
  async #draft(
    name: string,
    data: Uint8Array,
    then: (draft: string) => Promise<void>,
  ): Promise<void> {
    const draft = join(this.directory, `.${name}.tmp`);
    const write = async () => {
      try {
        await this.#write(draft, data);
        await then(draft);
      } catch (error) {
        await rm(draft, { force: true }).catch(() => {});
        throw error;
      }
    };
    await write().catch((error) => {
      ifMissing(error);
      // The folder is gone, as temporary ones go that somebody tidies away.
      makeFolder(this.directory);
      return write();
    });
  }

  /**
   * The file's time is when it was stored: what its age is counted from. Its
   * bytes reach the disk before its name does, so that not even a crash of the
   * machine leaves half of an image under a name.
   */
  async #write(path: string, data: Uint8Array): Promise<void> {
    const file = await open(path, "wx", 0o600);
    try {
      await writeFile(file, data);
      const seconds = this.#retention.now() / 1000;
      await file.utimes(seconds, seconds);
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  async get(name: string): Promise<StoredMedia | undefined> {
    if (!isName(name)) return undefined;
    const file = await open(join(this.directory, name), "r").catch(ifMissing);
    if (!file) return undefined;
    const { mtimeMs, size } = await file.stat().catch(async (error) => {
      await file.close();
      throw error;
    });
    if (this.#retention.expired(mtimeMs)) {
      await file.close();
      return undefined;
    }
    return {
      mimeType: storedType,
      size,
      expiresAt: this.#retention.expiresAt(mtimeMs),
      read: (range) => file.createReadStream({ start: 0, ...range }),
      close: () => file.close(),
    };
  }

  async delete(name: string): Promise<void> {
    if (isName(name)) await this.#remove(name);
  }

  async #remove(name: string): Promise<void> {
    await unlink(join(this.directory, name)).catch(ifMissing);
  }

  get state() {
    return this.#watch;
  }

  sweep(): Promise<void> {
    return this.#retention.sweep();
  }

  async close(): Promise<void> {
    this.#watch.close();
    await this.#retention.close();
    if (this.#temporary) await rm(this.directory, { recursive: true, force: true });
  }

  /** The images; what a process that died left half written is one that is too old. */
  async #list(): Promise<Listed[]> {
    const images: Listed[] = [];
    for (const name of (await readdir(this.directory).catch(ifMissing)) ?? []) {
      const draft = draftPattern.test(name);
      if (!draft && !isName(name)) continue;
      const found = await stat(join(this.directory, name)).catch(ifMissing);
      if (!found) continue;
      const { size: bytes, mtimeMs: storedAt } = found;
      if (!draft) images.push({ name, bytes, storedAt });
      else if (this.#retention.now() - storedAt > draftMs)
        images.push({ name, bytes, storedAt: 0 });
    }
    return images;
  }
}

/** Nothing, for what is not there. */
function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
