/** One life of the child process that runs the models. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Logger } from "../../core/log.js";
import type { Clock } from "../../core/routing/clock.js";
import { isSocketPath, socketOf } from "../../socket-path.js";
import { embeddedMark, type Report } from "./mark.js";
import type { Quarantine } from "./quarantine.js";
import { relog } from "./relog.js";
import { Watchdog } from "./watchdog.js";

/** What to start. */
export interface ChildSettings {
  /** The entry file of the command line. */
  readonly entry: string;
  /** Arguments of Node itself, in front of the entry. */
  readonly execArgv: readonly string[];
  /** Models, as paths. */
  readonly models: readonly string[];
  /** Options of `lintel node`, besides the models and the address. */
  readonly options: readonly string[];
  /** Chat templates by names of models; absent: none. */
  readonly templates?: Readonly<Record<string, string>> | undefined;
  /** How long an engine may be at one piece of work, milliseconds; 0: for as long as it likes. */
  readonly watchdog: number;
  /** The watchdog's time; default: the process's own. */
  readonly clock?: Clock | undefined;
}

const prefix = "lintel-";
const socket = "node.sock";

/** The folder for temporary files; the system's own where that one's path leaves no room for a socket's. */
function folderOfSockets(): string {
  const folder = tmpdir();
  return isSocketPath(socketOf(join(folder, `${prefix}XXXXXX`, socket))) ? folder : "/tmp";
}

/** A child process that listens on a socket of its own, in a folder that only this user can enter. */
export class Child {
  /** The socket's address, once the child listens. Rejects if it ends before. */
  readonly listening: Promise<string>;
  /** Resolves when the process is gone and its socket removed, with how it ended, in words. */
  readonly ended: Promise<string>;
  #process: ChildProcess | undefined;
  #watchdog: Watchdog | undefined;
  /** Why it was killed, if it was for hanging. */
  #hung: string | undefined;
  #listens = false;
  #stopping = false;

  constructor(settings: ChildSettings, quarantine: Quarantine, log: Logger) {
    let listen: (address: string) => void = () => {};
    let fail: (ending: Error) => void = () => {};
    this.listening = new Promise((resolve, reject) => {
      listen = resolve;
      fail = reject;
    });
    this.listening.catch(() => {});
    this.ended = this.#live(settings, quarantine, log, listen).catch(
      (error: Error) => `can't be started: ${error.message}`,
    );
    this.ended.then((ending) => fail(new Error(ending)));
  }

  /** The process; tests end it. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Whether it was killed because it hung. */
  get hung(): boolean {
    return this.#hung !== undefined;
  }

  /** Asks the process to leave, and makes it after the grace. Resolves when it is gone. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#watchdog?.end();
    // Signals that reach the whole group are not for the child: it leaves when the channel closes.
    if (this.#process?.connected) this.#process.disconnect();
    // One that only starts has nothing to end, and would hear of it once it has started.
    const timer = setTimeout(() => this.#process?.kill("SIGKILL"), this.#listens ? graceMs : 0);
    await this.ended;
    clearTimeout(timer);
  }

  async #live(
    { entry, execArgv, models, options, templates = {}, watchdog, clock }: ChildSettings,
    quarantine: Quarantine,
    log: Logger,
    listen: (address: string) => void,
  ): Promise<string> {
    // mkdtemp makes folders with mode 0700.
    const folder = await mkdtemp(join(folderOfSockets(), prefix));
    try {
      const address = `unix:${socketOf(join(folder, socket))}`;
      if (this.#stopping) return "was not started";
      const written = await writtenTemplates(templates, folder);
      const args = [...models.flatMap((path) => ["--model", path]), ...options, ...written];
      // The channel tells when the child listens; and when this process dies,
      // however it dies, the channel closes and the child leaves.
      const child = spawn(
        process.execPath,
        // What calls did is in this process's log already.
        [...execArgv, entry, "node", "--listen", address, "--log-level", "warn", ...args],
        {
          stdio: ["ignore", "ignore", "pipe", "ipc"],
          env: { ...process.env, [embeddedMark]: JSON.stringify(quarantine.orders()) },
        },
      );
      this.#process = child;
      // From its start on: one that never listens hangs as well.
      const watched = new Watchdog(
        watchdog,
        () => child.connected && child.send({ lintel: "beat" }, () => {}),
        (how) => this.#kill(how, log),
        clock,
      );
      this.#watchdog = watched;
      child.on("message", (message: Report) => {
        if (message.lintel === "alive") watched.answered(message.work);
        else if (message.lintel === "listening") {
          this.#listens = true;
          listen(address);
        } else quarantine.heard(message);
      });
      if (child.stderr) {
        createInterface({ input: child.stderr }).on("line", (line) => relog(line, log));
      }
      const ending = await endingOf(child);
      return this.#hung ?? ending;
    } finally {
      this.#watchdog?.end();
      await rm(folder, { recursive: true, force: true });
    }
  }

  #kill(how: string, log: Logger): void {
    const { pid } = this;
    log.error(
      { node: "embedded", pid, how },
      "the process of the embedded models hangs: it is killed",
    );
    this.#hung = `was killed: ${how}`;
    this.#process?.kill("SIGKILL");
  }
}

/** Options that name chat templates, each in a file of a folder that goes with the process. */
function writtenTemplates(templates: Readonly<Record<string, string>>, folder: string) {
  return Promise.all(
    Object.entries(templates).map(async ([model, text], i) => {
      const file = join(folder, `${i}.jinja`);
      await writeFile(file, text);
      return `--chat-template=${model}=${file}`;
    }),
  );
}

function endingOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) =>
      resolve(signal ? `ended by ${signal}` : `exited with ${code}`),
    );
  });
}
