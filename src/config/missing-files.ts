/** Models on this machine that are not there. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { packageOf } from "../installed.js";
import type { BackendConfig, Config } from "./schema.js";

/**
 * A line for each file, folder and package that a model needs and that is not there now. It may
 * still come before the start, by a mount, so it is no mistake.
 * @param folder where Lintel is started: packages are looked for beside Lintel and there
 */
export function missingFiles({ backends = [], safety }: Config, folder = process.cwd()): string[] {
  const { checker } = safety;
  return [
    ...backends.flatMap((backend, i) =>
      filesOf(backend).map(([field, path]) => [`backends[${i}].${field}`, path] as const),
    ),
    ...(checker?.type === "classifier" ? [["safety.checker.path", checker.path] as const] : []),
  ]
    .filter(([, path]) => !path.startsWith("hf:") && !existsSync(path))
    .map(([field, path]) => `${field}: there is no ${path} now`)
    .concat(backends.flatMap((backend, i) => missingPackage(backend, i, folder)));
}

function filesOf(backend: BackendConfig): readonly (readonly [field: string, path: string])[] {
  switch (backend.type) {
    case "llama":
    case "onnx":
      return [["path", backend.path]];
    case "embedded":
      return (backend.models ?? []).map((path, i) => [`models[${i}]`, path] as const);
    default:
      return [];
  }
}

function missingPackage(backend: BackendConfig, i: number, folder: string): string[] {
  if (backend.type !== "ai-sdk") return [];
  const name = packageOf(backend.package);
  const places = [import.meta.url, join(folder, "package.json")];
  // Whether it is installed, not whether it can be loaded: a package may hide its parts.
  const installed = places.some((place) =>
    createRequire(place)
      .resolve.paths(name)
      ?.some((modules) => existsSync(join(modules, name))),
  );
  return installed ? [] : [`backends[${i}].package: ${name} is not installed now`];
}
