/** Finds the configuration's file, and reads it. */
import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { NotAFile, readRegular } from "../regular-file.js";
import type { Parsed } from "./parse.js";
import type { Problem } from "./problems.js";
import { absoluteAddress } from "./quantities.js";
import { type Config, configSchema } from "./schema.js";

/** Name of the file that is looked for in the working directory. */
const defaultFile = "lintel.yaml";

/** Where the file may be. */
export interface FileSources {
  /** The file (`--config`). Default: `LINTEL_CONFIG`, then `lintel.yaml` if there is one. */
  readonly file?: string | undefined;
  /** Default: the process's. */
  readonly cwd?: string;
  /** Default: the process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What was found. */
export interface ReadFile extends Parsed {
  /** The file as it was named; `undefined`: there is none, and defaults hold. */
  readonly file: string | undefined;
  /** What stands in it. */
  readonly text?: string;
}

/**
 * Finds the file and reads it.
 * @param fields those that are wanted, such as `state.directory`; default: all
 */
export async function readFile(
  sources: FileSources,
  fields?: readonly string[],
): Promise<ReadFile> {
  const { cwd = process.cwd(), env = process.env } = sources;
  const file =
    sources.file ??
    (env.LINTEL_CONFIG || undefined) ??
    (existsSync(resolve(cwd, defaultFile)) ? defaultFile : undefined);
  if (file === undefined) {
    const config = configSchema.parse({}, { jitless: true });
    return { file, config, problems: [], warnings: misnamed(cwd) };
  }
  const byVariable = file !== sources.file && Boolean(env.LINTEL_CONFIG);
  return { file, ...(await parseFile(file, cwd, env, byVariable, fields)) };
}

/** A warning where the file is there that would be read by another name. */
function misnamed(cwd: string): string[] {
  const other = defaultFile.replace(/yaml$/, "yml");
  return existsSync(resolve(cwd, other))
    ? [`${other} is not read: rename it to ${defaultFile}, or name it with --config`]
    : [];
}

async function parseFile(
  file: string,
  cwd: string,
  env: NonNullable<FileSources["env"]>,
  byVariable: boolean,
  fields: readonly string[] | undefined,
): Promise<Omit<ReadFile, "file">> {
  const path = resolve(cwd, file);
  let bytes: Buffer;
  try {
    bytes = readRegular(path);
  } catch (error) {
    const wrong = whyUnreadable(error);
    const message = byVariable ? `${wrong}; LINTEL_CONFIG names it` : wrong;
    return { problems: [{ source: file, field: "", message }] };
  }
  const strange = strangeBytes(bytes);
  if (strange) return { problems: [{ source: file, field: "", ...strange }] };
  const text = bytes.toString("utf8");
  // Loaded here: without a file nobody needs the YAML parser.
  const { parseConfig } = await import("./parse.js");
  const directory = dirname(path);
  const parsed = parseConfig(text, { source: file, directory, env, fields });
  if (!parsed.config) return parsed;
  const empty = saysNothing(text)
    ? [`${file} is empty: the defaults hold; write {} where that is meant`]
    : [];
  const warnings = [...empty, ...(parsed.warnings ?? [])];
  return { ...parsed, config: absolute(parsed.config, directory), text, warnings };
}

function whyUnreadable(error: unknown): string {
  if (error instanceof NotAFile) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" ? "there is no such file" : `can't be read (${code})`;
}

/** Whether YAML holds no value: each line is blank, a comment, a directive, or a mark of a document. */
export const saysNothing = (text: string): boolean =>
  text.split("\n").every((line) => /^(?:---|\.\.\.|%.*)?\s*(?:#|$)/.test(line.trim()));

/** What is wrong with bytes that are no text in UTF-8, and where: read as such they would be another text. */
function strangeBytes(bytes: Buffer): Pick<Problem, "position" | "message"> | undefined {
  // UTF-16, as PowerShell's > and some editors write it.
  if (bytes.includes(0))
    return { message: "is not in UTF-8, but maybe in UTF-16: save it as UTF-8" };
  if (isUtf8(bytes)) return undefined;
  let line = 1;
  let from = 0;
  for (;;) {
    const end = bytes.indexOf(0x0a, from);
    const next = end < 0 ? bytes.length : end + 1;
    if (!isUtf8(bytes.subarray(from, next))) break;
    from = next;
    line++;
  }
  const column = bytes.subarray(from).toString("utf8").indexOf("\uFFFD") + 1;
  return { position: { line, column }, message: "is not in UTF-8 here: save the file as UTF-8" };
}

/** The same with the paths of sockets absolute. */
function absolute(config: Config, directory: string): Config {
  const { prometheus } = config.telemetry;
  const { admin } = config;
  const all = (addresses: Config["listen"]) =>
    addresses.map((address) => absoluteAddress(address, directory));
  return {
    ...config,
    listen: all(config.listen),
    ...(admin?.listen && { admin: { ...admin, listen: all(admin.listen) } }),
    telemetry: {
      ...config.telemetry,
      prometheus:
        typeof prometheus === "object"
          ? { listen: absoluteAddress(prometheus.listen, directory) }
          : prometheus,
    },
  };
}
