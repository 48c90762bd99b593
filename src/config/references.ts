/** What a text of a configuration refers to: environment variables, and files whose text stands in its place. */
import { isUtf8 } from "node:buffer";
import { resolve } from "node:path";
import { readRegular } from "../regular-file.js";

/** The values of environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where what is referred to is looked for. */
export interface Referred {
  readonly env: Environment;
  /** Relative paths count from here. */
  readonly directory: string;
}

const reference = /\$\$\{|\$\{([^}]*)(\}?)/g;

/** The path in `${file:PATH}`. */
const fileIn = (inner: string): string | undefined => /^file:(?!-)(.+)$/s.exec(inner)?.[1];

/**
 * Puts environment variables and files in: `${NAME}`, `${NAME:-default}` (where NAME is not set or empty),
 * `${file:PATH}` (without the line's end behind it), `$${` for a literal `${`.
 * @returns the text, and what is wrong with it
 */
export function substitute(text: string, { env, directory }: Referred) {
  const wrong: string[] = [];
  const value = text.replace(reference, (whole, inner?: string, end?: string) => {
    if (inner === undefined) return "${";
    const path = end ? fileIn(inner) : undefined;
    if (path !== undefined) {
      const read = readSecret(resolve(directory, path));
      if (read.text !== undefined) return read.text;
      wrong.push(`the file ${path} ${read.wrong}`);
      return whole;
    }
    const match = end ? /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(inner) : null;
    if (!match) {
      wrong.push(
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what the file may say
        "must be ${NAME}, ${NAME:-default} or ${file:PATH}; write $${ for a literal ${",
      );
      return whole;
    }
    const [, name = "", fallback] = match;
    if (fallback?.includes("${")) {
      // It would end at the first }, and what is behind that would be text.
      wrong.push("a default is text only: it can't have another ${ in it");
      return whole;
    }
    const found = env[name];
    if (found !== undefined && (found !== "" || fallback === undefined)) return found;
    if (fallback !== undefined) return fallback;
    wrong.push(`the environment variable ${name} is not set; \${${name}:-default} gives a default`);
    return whole;
  });
  return { value, wrong };
}

/**
 * Files that a configuration's text refers to, absolute. Those of comments are among them.
 * @param directory as for `substitute`
 */
export function filesIn(text: string, directory: string): string[] {
  const paths = [...text.matchAll(reference)].flatMap(([, inner = ""]) => fileIn(inner) ?? []);
  return [...new Set(paths.map((path) => resolve(directory, path)))];
}

/** Most bytes of such a file: it has a key, or an address. */
const mostBytes = 65_536;

function readSecret(path: string): { readonly text?: string; readonly wrong?: string } {
  let bytes: Buffer;
  try {
    bytes = readRegular(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { wrong: code === "ENOENT" ? "is not there" : `can't be read: ${code ?? message}` };
  }
  if (bytes.length > mostBytes) return { wrong: "is larger than 64 KiB" };
  if (!isUtf8(bytes)) return { wrong: "is no text in UTF-8" };
  const text = bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .replace(/(?:\r?\n)+$/, "");
  return text === "" ? { wrong: "is empty" } : { text };
}
