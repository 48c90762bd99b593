/**
 * The journal's files that wait for the database, and sending one of them. A file is
 * deleted when the database has all of it; what arrives twice counts once.
 */
import { appendFile, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Logger, reasonOf } from "../../core/log.js";
import { DatabaseAway } from "../database/sql.js";
import type { DatabaseUsage } from "../database/usage.js";
import { makeFolder } from "../directory.js";
import type { Journal } from "./journal.js";
import { extension, isOrphan, isOwn, takenName } from "./segment.js";

/** What it is made with. */
export interface WaitingFilesSettings {
  readonly directory: string;
  readonly usage: DatabaseUsage;
  readonly log: Logger;
  /** This process's own journal; absent: there are only files that others left. */
  readonly journal?: Journal | undefined;
}

/** The files of one folder. */
export class WaitingFiles {
  readonly #settings: WaitingFilesSettings;
  /** Files that were tried, and stay. */
  readonly #stuck = new Set<string>();
  /** Files whose half-written line was in the log. */
  readonly #torn = new Set<string>();

  constructor(settings: WaitingFilesSettings) {
    this.#settings = settings;
  }

  /** Whether some were tried, and stay. */
  get stuck(): boolean {
    return this.#stuck.size > 0;
  }

  /**
   * Names of those that can be sent, oldest first.
   * @throws Error if the folder can't be read
   */
  async names(): Promise<string[]> {
    const { directory, journal } = this.#settings;
    const found: { name: string; mtimeMs: number }[] = [];
    const all = new Set(await list(directory));
    // Somebody may have taken away what can't be sent.
    for (const known of [this.#stuck, this.#torn]) {
      for (const name of known) if (!all.has(name)) known.delete(name);
    }
    for (const name of all) {
      if (name === journal?.current) continue;
      const info = await stat(join(directory, name)).catch(() => undefined);
      if (!info) continue;
      const { mtimeMs, size } = info;
      if (!isOwn(name) && !isOrphan(name, Date.now() - mtimeMs)) continue;
      // A disk that was full leaves them; they wait for no database.
      if (size === 0) await rm(join(directory, name), { force: true }).catch(() => {});
      else found.push({ name, mtimeMs });
    }
    return found.sort((a, b) => a.mtimeMs - b.mtimeMs).map(({ name }) => name);
  }

  /**
   * Sends a file. One that can't be read, or deleted, does not hold up the others.
   * @throws DatabaseAway if it has to wait for the database
   */
  async send(name: string): Promise<void> {
    let file = name;
    try {
      if (!isOwn(name)) file = await this.#take(name);
      await this.#send(file);
      this.#stuck.delete(name);
    } catch (error) {
      if (error instanceof DatabaseAway) throw error;
      if (this.#stuck.has(file)) return;
      this.#stuck.add(file);
      this.#settings.log.warn(
        { file, error: reasonOf(error) },
        "a file of usage can't be sent; it is tried again, and the others go on",
      );
    }
  }

  /**
   * Size of all of them, also of those that others still write.
   * @throws Error if the folder can't be read
   */
  async bytes(): Promise<number> {
    const { directory } = this.#settings;
    const sizes = (await list(directory)).map((name) =>
      stat(join(directory, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  /** Before it is read: what is written to it from now on is not in there. */
  async #take(name: string): Promise<string> {
    const { directory } = this.#settings;
    const taken = takenName(name);
    await rename(join(directory, name), join(directory, taken)).catch(missingIsEmpty);
    return taken;
  }

  async #send(name: string): Promise<void> {
    const { directory, usage, log } = this.#settings;
    const path = join(directory, name);
    const text = await readFile(path, "utf8").catch(missingIsEmpty);
    const lines = text.split("\n");
    const tail = lines.pop();
    // Cut off half-way with the process: that call's answer was not complete.
    if (tail && !this.#torn.has(name)) {
      this.#torn.add(name);
      log.warn({ file: name }, "a half-written line of usage is passed over");
    }
    const refused = await usage.insert(lines.filter((line) => line !== ""));
    for (const { line, reason } of refused) {
      log.error({ error: reason, line }, "the database does not take a record of usage");
      makeFolder(directory);
      await appendFile(join(directory, "refused.jsonl"), `${line}\n`, { mode: 0o600 });
    }
    await rm(path, { force: true });
    this.#torn.delete(name);
  }
}

async function list(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => name.endsWith(extension));
}

/** Another process may have sent it meanwhile. */
function missingIsEmpty(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "";
  throw error;
}
