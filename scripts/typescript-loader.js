/**
 * Lets Node run the TypeScript sources without a build, in threads and child
 * processes that tests start:
 *
 *   node --import ./scripts/typescript-loader.js src/main.ts
 *
 * An import of `x.js` finds `x.ts` where there is no `x.js`. Types are erased,
 * not checked.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { register } from "node:module";
import { fileURLToPath } from "node:url";

// Node loads this file twice: here to register, and in the thread of the hooks to run them.
if (!new URL(import.meta.url).searchParams.has("hooks")) {
  register(`${import.meta.url}?hooks`);
}

/** Hook of Node: what an import names. */
export async function resolve(specifier, context, next) {
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
export async function load(url, context, next) {
  if (!url.startsWith("file:") || !new URL(url).pathname.endsWith(".ts")) return next(url, context);
  const { default: ts } = await import("typescript");
  const path = fileURLToPath(url);
  const { outputText } = ts.transpileModule(await readFile(path, "utf8"), {
    fileName: path,
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      inlineSourceMap: true,
    },
  });
  return { format: "module", source: outputText, shortCircuit: true };
}
