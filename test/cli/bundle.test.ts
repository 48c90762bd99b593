/** The bundle that a start loads, and the code that is kept of it. */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { cacheOf, loadBundle } from "../../src/bundle.js";
import { build, folder, start } from "./lintel.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A module that tells of every script with kept code whether V8 took it. */
const watching = `import vm from "node:vm";
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    if (options.cachedData) console.log(this.cachedDataRejected ? "refused" : "taken");
  }
};`;

/** Runs the command line. @param options of Node */
function lintel(...options: string[]) {
  const args = [...options, join(root, "dist/src/main.js"), "--version"];
  return spawnSync(process.execPath, args, { encoding: "utf8" });
}

const watched = ["--import", `data:text/javascript,${encodeURIComponent(watching)}`];

/** Without esbuild's binary there is no bundle, and everything runs from dist/src/. */
async function esbuildWorks(): Promise<boolean> {
  try {
    const { transform } = await import("esbuild");
    await transform("");
    return true;
  } catch {
    console.warn("esbuild does not run here: there is no bundle to test");
    return false;
  }
}

describe("lintel", () => {
  beforeAll(build);

  test("starts from the bundle, with the code that was kept of it", async () => {
    const { status, stdout } = lintel(...watched);
    expect(status).toBe(0);
    expect(stdout).toMatch((await esbuildWorks()) ? /^taken\nlintel \d/ : /^lintel \d/);
  });

  test("has of zod what is used: not its words in fifty languages", async () => {
    if (!(await esbuildWorks())) return;
    const text = readFileSync(join(root, "dist/bundle/run.cjs"), "utf8");
    expect(text).toContain("Invalid input: expected");
    expect(text).not.toContain("Ung\\xFCltige Eingabe");
  });

  test.each([
    [["serve", "--config", "none.yaml"], { status: 1, signal: null }],
    [["--config", "none.yaml"], { status: 1, signal: null }],
    // As of any command that a terminal ends with itself.
    [["check", "--config", "none.yaml"], { status: null, signal: "SIGHUP" }],
  ])("outlives SIGHUP while its code is loaded only where it serves: %j", (args, ended) => {
    const hanging = `import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { readFileSync } = fs;
fs.readFileSync = (path, ...rest) => {
  if (String(path).endsWith("run.cjs")) process.kill(process.pid, "SIGHUP");
  return readFileSync(path, ...rest);
};
syncBuiltinESMExports();`;
    const options = ["--import", `data:text/javascript,${encodeURIComponent(hanging)}`];
    const main = join(root, "dist/src/main.js");
    const started = spawnSync(process.execPath, [...options, main, ...args], { encoding: "utf8" });
    expect(started).toMatchObject(ended);
  });

  test("serves without all that fetch is made of until somebody needs it", async () => {
    const told = `process.once("exit", () => {
  console.log("loaded", process.moduleLoadList.filter((name) => /undici|http2\\/core/.test(name)));
});`;
    const yaml = `
listen: 127.0.0.1:0
auth: { mode: public }
usage: { enabled: false }
backends: [{ type: openai, name: any, url: "http://127.0.0.1:9", models: [any] }]
`;
    const options = `--import=data:text/javascript,${encodeURIComponent(told)}`;
    const serving = start(["serve"], folder({ "lintel.yaml": yaml }), { NODE_OPTIONS: options });
    await serving.until(/ chat +any .* ready\n/);
    serving.kill("SIGTERM");
    await serving.ended;
    expect(serving.stdout).toContain("loaded [ 'NativeModule internal/http2/core' ]");
  });

  test("has a line to show of an error that ends it, not a whole bundle", async () => {
    if (!(await esbuildWorks())) return;
    const lines = readFileSync(join(root, "dist/bundle/run.cjs"), "latin1").split("\n");
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(20_000);
  });

  test("starts with other settings of V8, too: its code is compiled then", async () => {
    const { status, stdout } = lintel("--no-opt", ...watched);
    expect(status).toBe(0);
    expect(stdout).toMatch((await esbuildWorks()) ? /^refused\nlintel \d/ : /^lintel \d/);
  });
});

/** A project that can be built, with nothing in it but what its bundle is made of. */
function project(run: string) {
  const home = folder();
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  };
  for (const name of ["scripts", "tsconfig.json", "tsconfig.build.json", "package.json"]) {
    cpSync(join(root, name), join(home, name), { recursive: true });
  }
  for (const name of ["typescript", "esbuild", "@esbuild", "@types"]) {
    mkdirSync(join(home, "node_modules"), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(home, "node_modules", name));
  }
  write("gen/nothing.ts", "");
  write("src/main.ts", "");
  write("src/cli/run.ts", run);
  const built = () =>
    spawnSync(process.execPath, [join(home, "scripts/build.js")], { encoding: "utf8" });
  return { home, write, built, bundle: join(home, "dist/bundle/run.cjs") };
}

test("a bundle is made anew of other packages, though no source changed", async () => {
  if (!(await esbuildWorks())) return;
  const { write, built, bundle } = project('export { version } from "dependency";');
  write("node_modules/dependency/package.json", '{ "main": "index.js" }');
  const install = (version: string) => {
    write("node_modules/dependency/index.js", `exports.version = "${version}";`);
    const packages = { "node_modules/dependency": { version } };
    write("node_modules/.package-lock.json", JSON.stringify({ packages }));
    built();
    return readFileSync(bundle, "utf8");
  };
  expect(install("1.0.0-first")).toContain("1.0.0-first");
  expect(install("1.0.1-second")).toContain("1.0.1-second");
});

// npm 10 lets esbuild fetch its binary even where `--omit=optional` leaves it out.
test("a bundle is made without the optional packages of others", async () => {
  if (!(await esbuildWorks())) return;
  const { home, built, bundle } = project('import pg from "pg"; export const { Client } = pg;');
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (!/^(?:pg|postgres-|split2|xtend)/.test(name) || name === "pg-cloudflare") continue;
    cpSync(join(root, "node_modules", name), join(home, "node_modules", name), { recursive: true });
  }
  expect(built().stderr).not.toContain("no bundle");
  expect(readFileSync(bundle, "utf8")).toContain("pg-cloudflare");
});

describe("a bundle", () => {
  const source =
    "/*0123abcd*/(function(exports,require,module,__filename,__dirname){exports.here=__dirname})";

  test("runs as a module of its folder", () => {
    const here = folder({ "run.cjs": source });
    expect(loadBundle(join(here, "run.cjs"))?.exports).toEqual({ here });
  });

  test("imports what is not in it", async () => {
    const importing =
      "/*89ab*/(function(exports,require,module,file,folder,$import){exports.path=$import('node:path')})";
    const { path } = (loadBundle(join(folder({ "run.cjs": importing }), "run.cjs"))?.exports ??
      {}) as {
      path?: Promise<typeof import("node:path")>;
    };
    expect((await path)?.join("a", "b")).toBe("a/b");
  });

  test("runs without its code if that does not fit", () => {
    // Another text than above, for V8 would still know that one.
    const other = source.replace("here", "there");
    const there = folder({ "run.cjs": other });
    const file = join(there, "run.cjs");
    writeFileSync(cacheOf(file, other), "no code at all");
    const bundle = loadBundle(file);
    expect(bundle?.script.cachedDataRejected).toBe(true);
    expect(bundle?.exports).toEqual({ there });
  });

  test("has its code beside it, under a name that only fits its own text and this Node", () => {
    const file = "/there/run.cjs";
    expect(cacheOf(file, source)).toBe(`${file}.0123abcd.${process.version}-${process.arch}.cache`);
    expect(cacheOf(file, source.replace("0123", "4567"))).not.toBe(cacheOf(file, source));
  });

  test("is nothing where there is none", () => {
    expect(existsSync(join(root, "none.cjs"))).toBe(false);
    expect(loadBundle(join(root, "none.cjs"))).toBeUndefined();
  });
});
