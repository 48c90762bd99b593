/** The command line as a user runs it: the built program, in a process of its own. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The built program. */
export const entry = join(root, "dist/src/main.js");

/** Builds what is stale; for `beforeAll`. */
export function build(): void {
  execFileSync(process.execPath, [join(root, "scripts/build.js"), "--if-stale"]);
}

/** A folder with these files. */
export function folder(files: Readonly<Record<string, string>> = {}): string {
  const path = mkdtempSync(join(tmpdir(), "lintel-cli-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How it is started. */
interface Surroundings {
  /** Descriptors of files that its outputs are; absent: what it says is kept. */
  readonly stdout?: number | undefined;
  readonly stderr?: number | undefined;
  /** How many descriptors it may have; absent: as many as we. */
  readonly descriptors?: number | undefined;
  /** Whose process it is; absent: ours. */
  readonly uid?: number | undefined;
  /** A program of another text, which may import the built modules; absent: the command line. */
  readonly program?: string | undefined;
}

/** A process that runs. */
export class Lintel {
  stdout = "";
  stderr = "";
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #changed: () => void = () => {};

  constructor(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv, around: Surroundings) {
    const { HOST: _host, PORT: _port, LINTEL_CONFIG: _config, ...rest } = process.env;
    const { descriptors } = around;
    const program = [process.execPath, around.program ?? entry, ...args];
    const [command = "", ...words] =
      descriptors === undefined
        ? program
        : ["sh", "-c", `ulimit -n ${descriptors}; exec "$0" "$@"`, ...program];
    this.#child = spawn(command, words, {
      cwd,
      env: { ...rest, XDG_STATE_HOME: join(cwd, "state"), ...env },
      stdio: ["ignore", around.stdout ?? "pipe", around.stderr ?? "pipe"],
      uid: around.uid,
    });
    const { stdout, stderr } = this.#child;
    stdout?.setEncoding("utf8").on("data", (text) => {
      this.stdout += text;
      this.#changed();
    });
    stderr?.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
      this.#changed();
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      // 'close' and not 'exit': the output is complete then.
      this.#child.once("close", (code, signal) => resolve({ code, signal }));
    });
    this.ended.then(
      () => this.#changed(),
      () => {},
    );
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Leaves whatever it writes to stdout unread from now on. */
  unread(): void {
    this.#child.stdout?.destroy();
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Waits until stdout matches; fails if the process ends before. */
  until(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#matching(pattern, () => this.stdout);
  }

  /** Waits until stderr, where the log is, matches; fails if the process ends before. */
  saying(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#matching(pattern, () => this.stderr);
  }

  async #matching(pattern: RegExp, text: () => string): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(text());
      if (match) return match;
      if (!this.running) throw new Error(`ended before ${pattern}:\n${this.stdout}${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }
}

/** Starts `lintel`. */
export function start(
  args: readonly string[],
  cwd: string = folder(),
  env: NodeJS.ProcessEnv = {},
  around: Surroundings = {},
): Lintel {
  return new Lintel(args, cwd, env, around);
}

/** Runs `lintel` to its end. */
export async function run(
  args: readonly string[],
  cwd: string = folder(),
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const lintel = start(args, cwd, env);
  const { code } = await lintel.ended;
  return { code, stdout: lintel.stdout, stderr: lintel.stderr };
}
