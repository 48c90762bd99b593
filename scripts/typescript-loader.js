/**
 * Lets Node run the TypeScript sources without a build, in threads and child
 * processes that tests start:
 *
 *   node --import ./scripts/typescript-loader.js src/main.ts
 *
 * An import of `x.js` finds `x.ts` where there is no `x.js`. Types are erased,
 * not checked. What was compiled is kept under node_modules/.cache: loading the
 * compiler takes longer than most of what it is used for.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import module, { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { threadId } from "node:worker_threads";

const cache = new URL("../node_modules/.cache/lintel-typescript/", import.meta.url);
const own = readFileSync(new URL(import.meta.url));

if (module.registerHooks) module.registerHooks({ resolve, load });
// Node 20 loads this file twice: here to register, and in the thread of the hooks to run them.
// Node 26 warns of that.
else if (!new URL(import.meta.url).searchParams.has("hooks")) {
  module.register(`${import.meta.url}?hooks`);
}

/** Hook of Node: what an import names. */
export function resolve(specifier, context, next) {
  if (specifier.startsWith(".") && specifier.endsWith(".js") && context.parentURL) {
    const source = new URL(specifier.replace(/\.js$/, ".ts"), context.parentURL);
    const built = new URL(specifier, context.parentURL);
    if (!existsSync(fileURLToPath(built)) && existsSync(fileURLToPath(source))) {
      return next(source.href, context);
    }
  }
  return next(specifier, context);
}

/** Hook of Node: what stands in a module. */
export function load(url, context, next) {
  if (!url.startsWith("file:") || !new URL(url).pathname.endsWith(".ts")) return next(url, context);
  const path = fileURLToPath(url);
  const source = readFileSync(path, "utf8");
  const key = createHash("sha256").update(own).update(path).update(source).digest("hex");
  const kept = new URL(`${key}.js`, cache);
  return {
    format: "module",
    source: before(kept) ?? compile(path, source, kept),
    shortCircuit: true,
  };
}

/** What was compiled before. */
function before(kept) {
  try {
    return readFileSync(kept, "utf8");
  } catch {
    return undefined;
  }
}

function compile(path, source, kept) {
  const ts = createRequire(import.meta.url)("typescript");
  const { outputText } = ts.transpileModule(source, {
    fileName: path,
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      inlineSourceMap: true,
    },
  });
  // By a rename: another thread or process may read it meanwhile.
  const draft = new URL(`${kept.href}.${process.pid}-${threadId}.tmp`);
  mkdirSync(cache, { recursive: true });
  writeFileSync(draft, outputText);
  renameSync(draft, kept);
  return outputText;
}
