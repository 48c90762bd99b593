/** Models on this machine that are not there. */
import { existsSync } from "node:fs";
import { engineHint, lackOf } from "../backends/engines.js";
import { isRemote } from "../backends/local.js";
import { isInstalled, packageOf } from "../installed.js";
import type { BackendConfig, Config } from "./schema.js";

/**
 * A line for each file, folder and package that a model needs, or reading an issuer's keys, and that is not there now. It may
 * still come before the start, by a mount, so it is no mistake.
 * @param folder where Lintel is started: packages are looked for beside Lintel and there
 */
export function missingFiles(
  { auth, backends = [], safety }: Config,
  folder = process.cwd(),
): string[] {
  const { checker } = safety;
  return missing([
    ...backends.flatMap((backend, i) =>
      filesOf(backend).map(([field, path]) => [`backends[${i}].${field}`, path] as const),
    ),
    ...(checker?.type === "classifier" ? [["safety.checker.path", checker.path] as const] : []),
    ...auth.oidc.flatMap(({ token_file: file }, i) =>
      file === undefined ? [] : [[`auth.oidc[${i}].token_file`, file] as const],
    ),
  ]).concat(backends.flatMap((backend, i) => missingPackage(backend, i, folder)));
}

/** Where a path is named, and the path. */
type Named = readonly [field: string, path: string];

/** A line for each file and folder that is not there now; names on Hugging Face are none. */
export const missing = (named: readonly Named[]): string[] =>
  named
    .filter(([, path]) => !isRemote(path) && !existsSync(path))
    .map(([field, path]) => `${field}: there is no ${path} now`);

function filesOf(backend: BackendConfig): readonly Named[] {
  switch (backend.type) {
    case "llama":
      return [["path", backend.path], ...lorasOf("loras", backend.loras)];
    case "onnx":
      return [["path", backend.path]];
    case "embedded":
      return [
        ...(backend.models ?? []).map((path, i) => [`models[${i}]`, path] as const),
        ...Object.entries(backend.loras ?? {}).flatMap(([model, all]) =>
          lorasOf(`loras.${model}`, all),
        ),
      ];
    default:
      return [];
  }
}

const lorasOf = (field: string, loras: readonly { readonly path: string }[] = []) =>
  loras.map(({ path }, i) => [`${field}[${i}].path`, path] as const);

function missingPackage(backend: BackendConfig, i: number, folder: string): string[] {
  if (backend.type === "llama" || backend.type === "onnx") {
    const lack = lackOf(backend.type);
    return lack.length === 0
      ? []
      : [
          `backends[${i}].type: ${backend.type} needs ${lack.join(" and ")}, not installed now: ${engineHint}`,
        ];
  }
  if (backend.type !== "ai-sdk") return [];
  const { package: name } = backend;
  return isInstalled(name, folder)
    ? []
    : [`backends[${i}].package: ${packageOf(name)} is not installed now`];
}
