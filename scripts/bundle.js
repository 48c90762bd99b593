/**
 * Joins what `lintel serve` loads into one file, dist/bundle/run.cjs, and keeps the
 * code that V8 makes of it beside it (scripts/code-cache.js): a start reads two files
 * then, not 600, and compiles little. Packages with binaries and optional ones stay
 * apart. Without a working esbuild (`npm ci --omit=optional` leaves its binary out)
 * there is no bundle, and everything runs from dist/src/.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { replace } from "./replace.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = join(root, "dist/src");
const out = join(root, "dist/bundle");
const file = join(out, "run.cjs");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** What modules know of themselves, for a script that has no `import.meta`. */
const meta =
  'const $meta={url:require("node:url").pathToFileURL(__filename).href,' +
  'resolve:(name)=>require("node:url").pathToFileURL(require.resolve(name)).href};';

/** Our files look for others beside them: they keep their own address. */
const addresses = {
  name: "addresses",
  setup(build) {
    build.onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(sources)) return undefined;
      const own = relative(out, path).replaceAll("\\", "/");
      const contents = (await readFile(path, "utf8"))
        .replaceAll("import.meta.url", `new URL(${JSON.stringify(own)}, $meta.url).href`)
        .replaceAll("import.meta.resolve", "$meta.resolve");
      return { contents, loader: "js" };
    });
  },
};

/** Takes the bundle away: what is in dist/src/ counts. */
export function dropBundle() {
  rmSync(out, { recursive: true, force: true });
}

/** Whether the bundler's binary, an optional package, is installed for this machine. */
export const canBundle = () =>
  existsSync(join(root, "node_modules/@esbuild", `${process.platform}-${process.arch}`));

/** Makes the bundle of what is in dist/src/. Returns whether there is one. */
export async function bundle() {
  let result;
  try {
    const esbuild = await import("esbuild");
    result = await esbuild.build({
      entryPoints: [join(sources, "cli/run.js")],
      absWorkingDir: root,
      write: false,
      bundle: true,
      format: "cjs",
      platform: "node",
      target: "node20",
      minifySyntax: true,
      minifyWhitespace: true,
      // Of an error that ends the process Node prints the line.
      lineLimit: 160,
      legalComments: "none",
      logLevel: "silent",
      external: [
        ...Object.keys({ ...manifest.optionalDependencies, ...manifest.peerDependencies }),
        ...Object.keys(manifest.devDependencies),
        // What pg only asks for if it is told to, or in other surroundings: both may be absent.
        "pg-native",
        "pg-cloudflare",
      ],
      define: { "import.meta.url": "$meta.url" },
      plugins: [addresses],
    });
  } catch (error) {
    // Our own mistakes shall be seen; a missing binary is no mistake.
    if (error.errors?.length) console.error(`lintel: no bundle: ${error.message}`);
    return false;
  }
  // Only what is not in the bundle is still imported; see src/bundle.ts.
  const text = result.outputFiles[0].text.replaceAll(/\bimport\(/g, "$import(");
  const name = createHash("sha256").update(text).digest("hex").slice(0, 16);
  // A function, as Node makes one of every file in CommonJS; see src/bundle.ts.
  const parameters = "exports,require,module,__filename,__dirname,$import";
  replace(file, `/*${name}*/(function(${parameters}){${meta}${text}})`);
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(root, "scripts/code-cache.js"), file],
    { encoding: "utf8", timeout: 60_000 },
  );
  if (status !== 0) console.error(`lintel: a start will compile its code: ${stderr}`);
  return true;
}
