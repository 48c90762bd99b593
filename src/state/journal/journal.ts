/**
 * Usage on its way to the database: lines of JSON in files of the state folder.
 * A record is written, and with it safe from the end of this process, before
 * the last message of its call goes out; records of calls that end together
 * share a write. Nothing is synced to the disk for it: a power cut may take the
 * last seconds.
 */
import { closeSync, ftruncateSync, openSync, rmSync, utimesSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import type { Logger } from "../../core/log.js";
import { atTurnsEnd } from "../../core/turn.js";
import type { UsageRecord, UsageSink } from "../../core/usage/record.js";
import { makeFolder } from "../directory.js";
import { segmentName } from "./segment.js";

/** What a journal is made with. */
export interface JournalSettings {
  /** Folder of the files; made if it is not there. */
  readonly directory: string;
  readonly log: Logger;
  /** Called when there is something to send on. */
  readonly onWrite?: (() => void) | undefined;
  /** Milliseconds since some moment; never goes back. Default: the process's own. */
  readonly now?: (() => number) | undefined;
}

/** Where a new file begins, bytes: about 3000 records. */
const segmentBytes = 1024 * 1024;

/** How long a disk that failed is left alone, milliseconds. */
const retryMs = 1000;

/** The file that is written to. */
interface Open {
  readonly path: string;
  readonly fd: number;
  /** Of whole lines. */
  bytes: number;
}

/** Takes records, in this process's own files. */
export class Journal implements UsageSink {
  readonly #settings: JournalSettings;
  #open: Open | undefined;
  #number = 0;
  #lines: string[] = [];
  #written: Promise<void> | undefined;
  #lost = 0;
  #lostTotal = 0;
  #retryAt = Number.NEGATIVE_INFINITY;
  /** No room is left for more: set by who sends records on. */
  full = false;

  constructor(settings: JournalSettings) {
    this.#settings = settings;
  }

  /** Records that could not be written since the last one that could. */
  get lost(): number {
    return this.#lost;
  }

  /** Records that could not be written, ever. */
  get lostTotal(): number {
    return this.#lostTotal;
  }

  /** Name of the file that is written to. */
  get current(): string | undefined {
    return this.#open && basename(this.#open.path);
  }

  keep(record: UsageRecord): Promise<void> {
    this.#lines.push(JSON.stringify(record));
    this.#written ??= new Promise((resolve) => {
      atTurnsEnd(() => {
        this.flush();
        resolve();
      });
    });
    return this.#written;
  }

  /** Writes what waits. */
  flush(): void {
    this.#written = undefined;
    const lines = this.#lines;
    if (lines.length === 0) return;
    this.#lines = [];
    try {
      this.#write(Buffer.from(`${lines.join("\n")}\n`));
    } catch (error) {
      this.#fail(lines.length, error);
      return;
    }
    if (this.#lost > 0) {
      this.#settings.log.warn({ lost: this.#lost }, "usage can be written again; some was lost");
      this.#lost = 0;
    }
    this.#settings.onWrite?.();
  }

  /** Ends the file that is written to, so that it can be sent on. Never throws. */
  seal(): void {
    this.flush();
    const open = this.#open;
    this.#open = undefined;
    try {
      if (open) closeSync(open.fd);
      if (open?.bytes === 0) rmSync(open.path, { force: true });
    } catch (error) {
      // What was written goes on its way; how much of it the disk took shows there.
      const { message } = error as Error;
      this.#settings.log.error({ error: message }, "a file of usage could not be closed");
    }
  }

  /** Shows other processes that this one lives. Never throws. */
  touch(): void {
    const now = new Date();
    try {
      if (this.#open) utimesSync(this.#open.path, now, now);
    } catch {
      // This process slept so long that another took its file over.
      this.seal();
    }
  }

  #write(bytes: Buffer): void {
    if (this.full) throw new Error("too much waits for the database");
    if (this.#now() < this.#retryAt) throw new Error("the disk failed a moment ago");
    try {
      this.#open ??= this.#begin();
      append(this.#open, bytes);
    } catch (error) {
      this.#retryAt = this.#now() + retryMs;
      // What is whole goes on its way; the next file may be luckier.
      this.seal();
      throw error;
    }
    if (this.#open.bytes >= segmentBytes) this.seal();
  }

  #now(): number {
    return this.#settings.now?.() ?? performance.now();
  }

  #begin(): Open {
    const { directory } = this.#settings;
    makeFolder(directory);
    const path = join(directory, segmentName(this.#number++));
    return { path, fd: openSync(path, "ax", 0o600), bytes: 0 };
  }

  /** The calls go on: a full disk is not their fault. */
  #fail(records: number, error: unknown): void {
    const { message } = error as Error;
    if (this.#lost === 0) {
      this.#settings.log.error({ error: message }, "usage can't be written, records are lost");
    }
    this.#lost += records;
    this.#lostTotal += records;
  }
}

/** Appends lines: all, or none where the disk lets it take back what it took. */
function append(open: Open, bytes: Buffer): void {
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(open.fd, bytes, done);
  } catch (error) {
    try {
      ftruncateSync(open.fd, open.bytes);
    } catch {
      // It ends in half a line then, which is passed over.
    }
    throw error;
  }
  open.bytes += bytes.length;
}
