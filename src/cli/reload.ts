/** Takes over a changed configuration on SIGHUP, and when its file changes. */
import { existsSync, type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { saysNothing } from "../config/file.js";
import { type ConfigSources, loadConfig } from "../config/load.js";
import { ConfigError, formatProblem } from "../config/problems.js";
import { filesIn } from "../config/references.js";
import type { Config } from "../config/schema.js";
import { LintelError } from "../core/errors.js";
import type { Logger } from "../core/log.js";
import { assertRegular } from "../regular-file.js";
import type { LastReload, Reloaded } from "../reloading.js";
import { foldersOf } from "./links.js";
import { logWarnings } from "./logger.js";
import { hangUpReloads } from "./signals.js";

/** What runs, in this process or in several. */
export interface Reloadable {
  /** What holds now. */
  readonly config: Config;
  /** @throws Error if the configuration can't be used: the one before stays as it was */
  reload(config: Config): Promise<Reloaded>;
  /** Hears how a reload went. */
  reloaded(how: Partial<LastReload>): void;
  /** Says what a start says as well, once it is known. */
  remark?(): Promise<void>;
}

/** What reloading needs. */
export interface ReloadOptions {
  readonly sources: ConfigSources;
  readonly running: Reloadable;
  readonly log: Logger & { level: string };
  /** The file as it was loaded; absent: there was none, and there is nothing to watch. */
  readonly file?: string | undefined;
  /** What stood in it then: it may have changed since. */
  readonly text?: string | undefined;
}

/** The last reload of each that runs, and whether it was refused. */
const last = new WeakMap<Reloadable, Promise<boolean>>();

/**
 * Loads the configuration anew and hands it to the gateway, after those reloads that were asked for
 * before: what is told of the last one must be of what stands in the file. Never rejects: what
 * is wrong goes to the log, every mistake in a line of its own.
 * @param why what made it happen, for the log
 * @returns whether it was refused
 */
export function reload(options: ReloadOptions, why: string): Promise<boolean> {
  const { running } = options;
  const turn = (last.get(running) ?? Promise.resolve(false)).then(() => reloadNow(options, why));
  last.set(running, turn);
  return turn;
}

async function reloadNow(options: ReloadOptions, why: string): Promise<boolean> {
  const { sources, running, log, file } = options;
  try {
    // Not looked for again: while the file is gone, defaults would let everybody in.
    const loaded = await loadConfig({ ...sources, file: sources.file ?? file });
    const { config, warnings } = loaded;
    // Neither while it is being written, or a full disk took nothing of it.
    if (loaded.text !== undefined && saysNothing(loaded.text)) {
      const message = "is empty: {} stands for the defaults";
      throw new ConfigError([{ source: loaded.file ?? "", field: "", message }]);
    }
    logWarnings(log, warnings);
    const { restart, ...reloaded } = await running.reload(config);
    running.reloaded({ successful: true, restart: restart.length });
    log.level = config.log.level;
    log.info({ why, ...reloaded }, "configuration reloaded");
    if (restart.length > 0) {
      log.warn({ fields: restart }, "these changes of the configuration apply after a restart");
    }
    await running.remark?.();
    return false;
  } catch (error) {
    if (error instanceof LintelError && error.code === "shutting_down") {
      log.info({ why }, "configuration not reloaded: this gateway is shutting down");
      return false;
    }
    running.reloaded({ successful: false });
    const problems =
      error instanceof ConfigError ? error.problems.map(formatProblem) : [messageOf(error)];
    for (const problem of problems) log.error({ problem }, "mistake in the new configuration");
    log.error(
      { why, mistakes: problems.length },
      "configuration not reloaded: the one before stays",
    );
    return true;
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/**
 * Takes SIGHUP from now on, which would end the process otherwise. On Windows it is let be.
 * @returns begins to reload on it; at once if it came before
 */
export function reloadOnSignal(): (options: ReloadOptions) => void {
  let known: ReloadOptions | undefined;
  let came = false;
  const onSignal = () => {
    came = true;
    if (known) void reload(known, "SIGHUP");
  };
  if (hangUpReloads) process.on("SIGHUP", onSignal);
  return (options) => {
    known = options;
    if (came) onSignal();
  };
}

/** How long a file must have been left alone before it is read, milliseconds. */
const settleMs = 200;
/** After which time it is read although its folder is not left alone, milliseconds: a log may lie in it. */
const longestMs = 2000;

/**
 * Reloads when the text of the file changes, or that of a certificate's or of a file that it refers to. The folder is watched, since editors
 * replace files, and so are those of links on the way to it, and of what they lead to; and the
 * file itself, which another folder holds where it is mounted into a container. A certificate
 * that is gone, for the moment, is waited for. Where a signal came while one was gone or wrong, and was refused,
 * they are looked at again also when they are as they were before: what is told of the last reload is else of
 * what does not stand there any more.
 * @returns ends it
 */
export async function reloadOnChange(options: ReloadOptions): Promise<() => void> {
  const { file, log, sources, running } = options;
  if (file === undefined) return () => {};
  const path = resolve(sources.cwd ?? process.cwd(), file);
  const { cert, key, client_ca } = running.config.tls ?? {};
  // Other ones apply after a restart.
  const certificates = [cert, key, client_ca].filter((one) => one !== undefined);
  const filesOf = (text = "") => [...certificates, ...filesIn(text, dirname(path))];
  const read = async (what: string) => {
    try {
      assertRegular(what);
      return await readFile(what, "utf8");
    } catch {
      return undefined;
    }
  };
  const readAll = async (files: readonly string[]) =>
    new Map(await Promise.all(files.map(async (one) => [one, await read(one)] as const)));
  let known = options.text;
  let served = await readAll(filesOf(known));
  /** The last reload that was of here: of what it refused another text alone makes one again. */
  let own: Promise<boolean> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let changedAt: number | undefined;
  let watchers: FSWatcher[] = [];
  let stopped = false;
  const changed = () => {
    changedAt ??= performance.now();
    if (performance.now() - changedAt > longestMs) return;
    clearTimeout(timer);
    timer = setTimeout(() => void look(), settleMs);
  };
  const look = async () => {
    changedAt = undefined;
    // Another file may stand there now, and elsewhere. Where there is none, a folder tells when it is back.
    end();
    const about = await read(path);
    if (stopped) return;
    const files = filesOf(about ?? known);
    const watched = [path, ...files].flatMap((one) => [
      ...foldersOf(one),
      ...(existsSync(one) ? [one] : []),
    ]);
    watchers = [...new Set(watched)].flatMap((what) => watcherOf(what) ?? []);
    const turn = last.get(running);
    const refused = turn !== own && (await turn) === true;
    const text = await read(path);
    const texts = await readAll(files);
    // Gone for the moment, while it is being replaced.
    if (text === undefined) return;
    // What it refers to now may not be watched yet.
    if (text !== about) return changed();
    const there = files.every((one) => texts.get(one) !== undefined || !served.get(one));
    const renewed = there ? files.find((one) => texts.get(one) !== served.get(one)) : undefined;
    const why = text !== known ? path : (renewed ?? (refused && there ? path : undefined));
    if (why === undefined) return;
    known = text;
    served = texts;
    own = reload(options, `${basename(why)} changed`);
    await own;
  };
  const unwatched = (error: Error) => {
    log.warn({ reason: error.message }, "the configuration's file can't be watched: send SIGHUP");
  };
  const end = () => {
    for (const watcher of watchers) watcher.close();
  };
  const watcherOf = (what: string): FSWatcher | undefined => {
    try {
      return watch(what, changed).on("error", unwatched);
    } catch (error) {
      // As many files are watched as the system lets; the gateway serves all the same.
      unwatched(error as Error);
      return undefined;
    }
  };
  // It may have changed while the gateway started.
  await look();
  return () => {
    stopped = true;
    clearTimeout(timer);
    end();
  };
}
