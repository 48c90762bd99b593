/**
 * Usage on its way to the database: lines of JSON in files of the state folder.
 * A record is written, and with it safe from the end of this process, before
 * the last message of its call goes out; records of calls that end together
 * share a write. Nothing is synced to the disk for it: a power cut may take the
 * last seconds. While the disk fails, records are held in memory, for the database
 * or for the disk, whichever takes them first.
 */
import { closeSync, existsSync, openSync, rmSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import { type Logger, reasonOf } from "../../core/log.js";
import { type Clock, systemClock, type Timer } from "../../core/routing/clock.js";
import { beforeWrites } from "../../core/turn.js";
import type { UsageRecord, UsageSink } from "../../core/usage/record.js";
import { lineOf } from "../database/usage-line.js";
import { makeFolder } from "../directory.js";
import { append, type OpenSegment } from "./open-segment.js";
import { segmentName } from "./segment.js";

/** What a journal is made with. */
export interface JournalSettings {
  /** Folder of the files; made if it is not there. */
  readonly directory: string;
  readonly log: Logger;
  /** Called when there is something to send on. */
  readonly onWrite?: (() => void) | undefined;
  /** Default: the process's own. */
  readonly clock?: Clock | undefined;
}

/** Where a new file begins, bytes: about 3000 records. */
const segmentBytes = 1024 * 1024;

/** How long a disk that failed is left alone, milliseconds. */
const retryMs = 1000;

/** Most records that are held while the disk fails; about 5 MB. */
const mostHeld = 10_000;

/** Shows whether there is room where no record waits for it: empty lines, a block of a disk. */
const probe = Buffer.alloc(4096, "\n");

/** Takes records, in this process's own files. */
export class Journal implements UsageSink {
  readonly #settings: JournalSettings;
  readonly #clock: Clock;
  #open: OpenSegment | undefined;
  #number = 0;
  #lines: string[] = [];
  #written: Promise<void> | undefined;
  readonly #held = new Set<string>();
  /** When the disk is tried again; absent while it works. */
  #retry: Timer | undefined;
  #outages = 0;
  /** Since the disk failed. */
  #lost = 0;
  #lostTotal = 0;
  /** No room is left for more: set by who sends records on. */
  full = false;

  constructor(settings: JournalSettings) {
    this.#settings = settings;
    this.#clock = settings.clock ?? systemClock;
  }

  /** Whether the disk took nothing when it was tried last. */
  get failing(): boolean {
    return this.#retry !== undefined;
  }

  /** How often that came to be. */
  get outages(): number {
    return this.#outages;
  }

  /** Lines of records that are only in memory, oldest first. */
  get held(): ReadonlySet<string> {
    return this.#held;
  }

  /** Records that nothing took, ever. */
  get lostTotal(): number {
    return this.#lostTotal;
  }

  /** Name of the file that is written to. */
  get current(): string | undefined {
    return this.#open && basename(this.#open.path);
  }

  keep(record: UsageRecord): Promise<void> {
    this.#lines.push(lineOf(record));
    this.#written ??= new Promise((resolve) => {
      beforeWrites(() => {
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
    if (this.failing) this.#hold(lines);
    else this.#write(lines);
    this.#settings.onWrite?.();
  }

  /** These lines are in the database. */
  release(lines: Iterable<string>): void {
    for (const line of lines) this.#held.delete(line);
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

  /** Tries a disk that failed once more. Never throws. */
  retry(): void {
    if (!this.failing) return;
    // What waits joins what is held: written in the middle of this, it could fail unseen.
    this.flush();
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#write([...this.#held], true);
  }

  /** No more comes, and what is held goes nowhere. */
  end(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#lose(this.#held.size);
    this.#held.clear();
  }

  /** @param again whether the disk failed before, and the lines are held */
  #write(lines: readonly string[], again = false): void {
    try {
      if (this.full) throw new Error("too much waits for the database");
      this.#open ??= this.#begin();
      append(this.#open, lines.length > 0 ? Buffer.from(`${lines.join("\n")}\n`) : probe);
      // Another process took the file over, perhaps before these lines: they count once there, too.
      if (!existsSync(this.#open.path)) {
        this.seal();
        this.#write(lines, again);
        return;
      }
      if (this.#open.bytes >= segmentBytes) this.seal();
    } catch (error) {
      this.#fail(lines, error, again);
      return;
    }
    if (again) this.#recover();
  }

  #begin(): OpenSegment {
    const { directory } = this.#settings;
    makeFolder(directory);
    const path = join(directory, segmentName(this.#number++));
    return { path, fd: openSync(path, "ax", 0o600), bytes: 0 };
  }

  /** The calls go on: a full disk is not their fault. */
  #fail(lines: readonly string[], error: unknown, again: boolean): void {
    this.#retry = this.#clock.after(retryMs, () => this.retry());
    // What is whole goes on its way; the next file may be luckier.
    this.seal();
    if (again) return;
    this.#outages++;
    this.#settings.log.error(
      { error: reasonOf(error) },
      "usage can't be written to the disk; records wait in memory for it, or for the database",
    );
    this.#hold(lines);
  }

  #recover(): void {
    const { log, onWrite } = this.#settings;
    if (this.#lost === 0) log.info({}, "usage can be written again");
    else log.warn({ lost: this.#lost }, "usage can be written again; some was lost");
    this.#lost = 0;
    this.#held.clear();
    onWrite?.();
  }

  #hold(lines: readonly string[]): void {
    const room = Math.max(0, mostHeld - this.#held.size);
    for (const line of lines.slice(0, room)) this.#held.add(line);
    this.#lose(lines.length - room);
  }

  #lose(records: number): void {
    if (records <= 0) return;
    const { log } = this.#settings;
    if (this.#lost === 0) {
      log.error({ lost: records }, "usage can't be written anywhere, records are lost");
    }
    this.#lost += records;
    this.#lostTotal += records;
  }
}
