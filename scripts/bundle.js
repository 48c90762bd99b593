/**
 * Joins what `lintel serve` loads into a few files in dist/bundle/: a start
 * reads some dozens of files then, not 600. What is only loaded when it is
 * needed stays apart, and so do packages with binaries and optional ones.
 * Without a working esbuild (`npm ci --omit=optional` leaves its binary out)
 * there is no bundle, and everything runs from dist/src/.
 */
import { readFileSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { replace } from "./replace.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = join(root, "dist/src");
const out = join(root, "dist/bundle");
const listFile = join(out, "files.json");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Packages in CommonJS expect these. */
const banner = [
  'import { createRequire as $createRequire } from "node:module";',
  'import { fileURLToPath as $path } from "node:url";',
  "const require = $createRequire(import.meta.url);",
  "const __filename = $path(import.meta.url);",
  'const __dirname = $path(new URL(".", import.meta.url));',
].join("");

/** Our files look for others beside them: they keep their own address. */
const addresses = {
  name: "addresses",
  setup(build) {
    build.onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(sources)) return undefined;
      const own = relative(out, path).replaceAll("\\", "/");
      const contents = (await readFile(path, "utf8")).replaceAll(
        "import.meta.url",
        `new URL(${JSON.stringify(own)}, import.meta.url).href`,
      );
      return { contents, loader: "js" };
    });
  },
};

/** Names of the files of the last bundle, and of the one before. */
function lastFiles() {
  try {
    return JSON.parse(readFileSync(listFile, "utf8"));
  } catch {
    return { files: [], before: [] };
  }
}

/** Takes the bundle away: what is in dist/src/ counts. */
export function dropBundle() {
  rmSync(join(out, "run.js"), { force: true });
}

/**
 * Makes the bundle of what is in dist/src/. The files of the bundle before
 * stay, for a server that runs from them and has not loaded all of it.
 */
export async function bundle() {
  let result;
  try {
    const esbuild = await import("esbuild");
    result = await esbuild.build({
      entryPoints: [join(sources, "cli/run.js")],
      outdir: out,
      absWorkingDir: root,
      write: false,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20",
      minifySyntax: true,
      minifyWhitespace: true,
      legalComments: "none",
      logLevel: "silent",
      external: [
        ...Object.keys({ ...manifest.optionalDependencies, ...manifest.peerDependencies }),
        ...Object.keys(manifest.devDependencies),
        "pg-native",
      ],
      banner: { js: banner },
      plugins: [addresses],
    });
  } catch (error) {
    dropBundle();
    // Our own mistakes shall be seen; a missing binary is no mistake.
    if (error.errors?.length) console.error(`lintel: no bundle: ${error.message}`);
    return;
  }
  const last = lastFiles();
  const files = result.outputFiles.map(({ path }) => basename(path));
  const entryLast = [...result.outputFiles].sort(
    (a, b) => Number(basename(a.path) === "run.js") - Number(basename(b.path) === "run.js"),
  );
  for (const { path, contents } of entryLast) replace(path, contents);
  const kept = new Set([...files, ...last.files]);
  for (const old of last.before) if (!kept.has(old)) rmSync(join(out, old), { force: true });
  replace(listFile, JSON.stringify({ files, before: last.files }));
}
