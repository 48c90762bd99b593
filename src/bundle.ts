/** What a start loads, in one file, with the code that V8 has made of it before. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import vm from "node:vm";

/** The bundle that `scripts/bundle.js` makes. */
export interface Bundle {
  readonly exports: typeof import("./cli/run.js");
  /** For who makes its code cache, and for who checks that it is used. */
  readonly script: vm.Script;
  /** Where its code is kept. */
  readonly cache: string;
}

/**
 * Where the code of a bundle is kept. Each bundle begins with a comment that names it. The code is of
 * one version of Node: V8 takes that of another with the same number of its own, and what Node 20.19.0
 * kept ended Node 20.20.2 with a segmentation fault.
 */
export const cacheOf = (file: string, source: string): string =>
  `${file}.${/^\/\*(\w+)\*\//.exec(source)?.[1]}.${process.version}-${process.arch}.cache`;

/**
 * Runs the bundle. V8's code for it is used if it was made by the same Node with the same
 * settings, which are to be changed before; else it is compiled, which takes longer.
 * @param file its absolute path
 * @returns nothing if there is none, as in an installation without esbuild
 */
export function loadBundle(file: string): Bundle | undefined {
  // It is ASCII; as such it takes a byte for each letter.
  const source = read(file)?.toString("latin1");
  if (source === undefined) return undefined;
  const cache = cacheOf(file, source);
  const cachedData = read(cache);
  const script = new vm.Script(source, {
    filename: file,
    ...(cachedData && { cachedData }),
  });
  const module = { exports: {} };
  // With its code from before, Node 20 does not let a script import by itself.
  const importer = (name: string) => import(name);
  const parameters = [module.exports, createRequire(file), module, file, dirname(file), importer];
  script.runInThisContext()(...parameters);
  return { exports: module.exports as Bundle["exports"], script, cache };
}

function read(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
