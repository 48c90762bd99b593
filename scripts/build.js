/**
 * Compiles src/ and gen/ to dist/src/ and dist/gen/, and joins what a start loads in dist/bundle/.
 *
 *   node scripts/build.js --if-stale      builds what changed since the last build
 *   node scripts/build.js --if-possible   the same; without a compiler says so and succeeds (npm ci)
 *   node scripts/build.js --force         checks the types, then builds everything (npm run build)
 *
 * Files are compiled one by one (`isolatedModules`), so a build takes a second
 * and not ten; types are checked by `npm run types` and `--force`. Each file
 * is replaced by a rename, so builds at the same time, and a server that
 * imports meanwhile, never see half a file.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle, canBundle, dropBundle } from "./bundle.js";
import { replace } from "./replace.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = join(root, "dist");
const stampFile = join(out, ".stamp.json");
const configFile = join(root, "tsconfig.build.json");

/** What the last build was made of, or nothing. */
function lastBuild() {
  try {
    return JSON.parse(readFileSync(stampFile, "utf8"));
  } catch {
    return { key: "", sources: {} };
  }
}

/** TypeScript is compiled, what else gateways read is copied. */
const isSource = (name) =>
  (name.endsWith(".ts") && !name.endsWith(".d.ts")) || /\.(json|html)$/.test(name);

/** What runs in browsers; scripts/console.js makes one file of it in gen/. */
const forBrowsers = join(root, "src/console");

/** Size and time of every source, by path; changes show as a different text. */
function sourcesNow() {
  const sources = {};
  for (const folder of ["src", "gen"]) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !isSource(entry.name)) continue;
      // `parentPath` came with Node 20.12; `path` left with Node 24.
      const path = join(entry.parentPath ?? entry.path, entry.name);
      if (path.startsWith(forBrowsers)) continue;
      const { size, mtimeMs } = statSync(path);
      sources[relative(root, path).replaceAll("\\", "/")] = `${size} ${mtimeMs}`;
    }
  }
  return sources;
}

/** Everything besides the sources that the output depends on. */
function keyNow() {
  const hash = createHash("sha256");
  for (const file of [
    "tsconfig.json",
    "tsconfig.build.json",
    "scripts/build.js",
    "scripts/bundle.js",
    "scripts/code-cache.js",
    "package.json",
  ]) {
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest("hex");
}

/** The packages that the bundle is made of, or "" if nobody tells. */
function packagesNow() {
  // What is installed; the other one is what should be.
  const lock = ["node_modules/.package-lock.json", "package-lock.json"]
    .map((name) => join(root, name))
    .find((path) => existsSync(path));
  if (!lock) return "";
  const { packages } = JSON.parse(readFileSync(lock, "utf8"));
  // The others stay apart, and may be left out of an installation.
  const joined = Object.entries(packages).filter(
    ([path, { dev, optional, devOptional }]) => path && !dev && !optional && !devOptional,
  );
  const versions = joined.map(([path, { version, integrity }]) => [path, version, integrity]);
  return createHash("sha256").update(JSON.stringify(versions.sort())).digest("hex");
}

const outputOf = (source) => join(out, source.replace(/\.ts$/, ".js"));

/** The compiler, or `undefined` where `npm ci --omit=dev` left it out. */
async function compiler() {
  try {
    return (await import("typescript")).default;
  } catch (error) {
    if (error.code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/** Compiles one source. Returns what is wrong with its syntax. */
function compile(ts, options, source) {
  const path = join(root, source);
  if (!source.endsWith(".ts")) {
    replace(outputOf(source), readFileSync(path, "utf8"));
    return [];
  }
  const { outputText, sourceMapText, diagnostics } = ts.transpileModule(
    readFileSync(path, "utf8"),
    {
      compilerOptions: options,
      fileName: path,
      reportDiagnostics: true,
    },
  );
  if (diagnostics?.length) return diagnostics;
  const target = outputOf(source);
  if (sourceMapText) {
    const map = JSON.parse(sourceMapText);
    map.sources = [relative(dirname(target), path)];
    map.sourceRoot = "";
    replace(`${target}.map`, JSON.stringify(map));
  }
  replace(target, outputText);
  return [];
}

/** Builds what differs from the last build. Returns the exit code. */
async function build({ force, optional }) {
  const last = lastBuild();
  const key = keyNow();
  const sources = sourcesNow();
  const all = force || last.key !== key;
  const stale = Object.keys(sources).filter(
    (path) => all || sources[path] !== last.sources[path] || !existsSync(outputOf(path)),
  );
  const gone = Object.keys(last.sources).filter((path) => !(path in sources));
  const packages = packagesNow() || last.packages;
  const built = (bundled) =>
    replace(stampFile, JSON.stringify({ key, packages, bundled, sources }));
  if (packages !== last.packages) dropBundle();
  if (stale.length === 0 && gone.length === 0) {
    // One that could not be made is made once it can be.
    if (packages === last.packages && (last.bundled || !canBundle())) return 0;
    built(await bundle());
    return 0;
  }

  const ts = await compiler();
  if (!ts) {
    const runs = existsSync(outputOf("src/main.ts"));
    console.error(
      runs
        ? "lintel: the sources changed, and typescript is not installed; dist/ stays as it is"
        : "lintel: not built, because typescript is not installed (npm ci without --omit=dev brings it)",
    );
    return runs || optional ? 0 : 1;
  }

  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (d) => report(ts, [d]) };
  const config = ts.getParsedCommandLineOfConfigFile(configFile, {}, host);
  if (!config || config.errors.length) return report(ts, config?.errors ?? []);
  // A file compiled alone does not know that package.json makes it an ES module.
  const options = {
    ...config.options,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  // While files change it would be a mixture.
  dropBundle();
  const wrong = stale.flatMap((source) => compile(ts, options, source));
  if (wrong.length) return report(ts, wrong);
  for (const source of gone) {
    rmSync(outputOf(source), { force: true });
    rmSync(`${outputOf(source)}.map`, { force: true });
  }
  const bundled = await bundle();
  // Last of all: a build that was cut short is not taken for a whole one.
  built(bundled);
  return 0;
}

function report(ts, diagnostics) {
  const host = {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => root,
    getNewLine: () => "\n",
  };
  console.error(ts.formatDiagnostics(diagnostics, host));
  return 1;
}

/** Checks the types of the whole project. Returns the exit code. */
function checkTypes() {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  if (!existsSync(tsc)) return 0;
  const { status } = spawnSync(process.execPath, [tsc, "--noEmit", "-p", configFile], {
    cwd: root,
    stdio: "inherit",
  });
  return status ?? 1;
}

/** Builds what is stale; for the other scripts. Returns the exit code. */
export const buildIfStale = () => build({ force: false, optional: false });

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const mode = process.argv[2] ?? "--if-stale";
  const force = mode === "--force";
  process.exitCode =
    (force && checkTypes()) || (await build({ force, optional: mode === "--if-possible" }));
}
