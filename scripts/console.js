/**
 * Makes gen/console.html, the page that a gateway shows in a browser, of src/console: one
 * file, so that a gateway has one thing to serve, and an installation needs no bundler.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = join(root, "src/console");

/** What esbuild makes of one file, as text. */
async function joined(name) {
  const { outputFiles } = await build({
    entryPoints: [join(sources, name)],
    absWorkingDir: root,
    tsconfig: join(sources, "tsconfig.json"),
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["chrome123", "firefox121", "safari17.5"],
    charset: "utf8",
    legalComments: "none",
    logLevel: "error",
  });
  return outputFiles[0].text.trim();
}

/** The page, as text. */
export async function consolePage() {
  const template = readFileSync(join(sources, "index.html"), "utf8");
  // marked's expressions know of comments in HTML.
  const program = (await joined("main.tsx")).replaceAll("<!--", "\\x3C!--");
  const script = `${licenses()}\n${program}`;
  const style = (await joined("style.css")) + (await joined("markdown/style.css"));
  // Both stand within elements, which such a text would end.
  if (/<\/(script|style)|<!--/i.test(script + style))
    throw new Error("the page would end too soon");
  return template.replace("/*style*/", () => style).replace("/*script*/", () => script);
}

/** What those whose code is in it ask to be told. */
function licenses() {
  const told = ["preact", "eventsource-parser", "marked"].map((name) => {
    const folder = join(root, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return `With ${name} ${version}:\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}`;
  });
  return `/*!\n${told.join("\n\n")}\n*/`;
}
