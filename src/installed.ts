/** Packages that are not among Lintel's own: the operator installs them. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Imports a package that is installed beside Lintel, or in a folder.
 * @param folder default: where Lintel was started
 * @throws Error as Node does; `isMissing` tells whether it is not installed
 */
export async function importInstalled(
  name: string,
  folder: string = process.cwd(),
): Promise<Record<string, unknown>> {
  try {
    return await import(name);
  } catch (cause) {
    if (!isMissing(name, cause)) throw cause;
    const path = createRequire(join(folder, "package.json")).resolve(name);
    return import(pathToFileURL(path).href);
  }
}

/** Whether it is the package itself that is missing, not something that it needs. */
export function isMissing(name: string, cause: unknown): boolean {
  const { code, message } = cause as NodeJS.ErrnoException;
  const missing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  return missing && message.includes(`'${packageOf(name)}`);
}

/**
 * Whether a package is installed where `importInstalled` looks, not whether it can be loaded: it
 * may hide its parts. Loads nothing.
 */
export function isInstalled(name: string, folder: string = process.cwd()): boolean {
  const own = packageOf(name);
  return [import.meta.url, join(folder, "package.json")].some((place) =>
    createRequire(place)
      .resolve.paths(own)
      ?.some((modules) => existsSync(join(modules, own))),
  );
}

/** `@scope/name` of `@scope/name/part`. */
export const packageOf = (name: string): string =>
  name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
