/**
 * Generates what is generated: gen/ from proto/ (by buf, offline), the OpenAPI document
 * and the console among it, and lintel.schema.json from the definition of the configuration.
 *
 *   node scripts/generate.js            writes them
 *   node scripts/generate.js --check    writes nothing, fails if they are stale
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildIfStale } from "./build.js";
import { consolePage } from "./console.js";
import { replace } from "./replace.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = join(root, "node_modules/.bin");
const check = process.argv.includes("--check");

/** Runs buf, which finds its plugins on the path. */
function buf(...args) {
  execFileSync(join(bin, "buf"), args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  });
}

/** Paths of all files under a folder, relative to it. */
function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1))
    .sort();
}

/** Names of files that are missing, left over or different. */
function differences(expected, actual) {
  const names = new Set([...filesUnder(expected), ...filesUnder(actual)]);
  return [...names].filter((name) => {
    const [a, b] = [join(expected, name), join(actual, name)];
    return !existsSync(a) || !existsSync(b) || !readFileSync(a).equals(readFileSync(b));
  });
}

const asText = (value) => `${JSON.stringify(value, null, 2)}\n`;

/** What a module exports, as its source is now. */
async function built(path) {
  if ((await buildIfStale()) !== 0) process.exit(1);
  return import(join(root, "dist/src", path));
}

/** The JSON Schema of the configuration, as text. */
async function schemaText() {
  const { configJsonSchema } = await built("config/json-schema.js");
  return asText(configJsonSchema());
}

/** The OpenAPI document of REST, as text. */
async function openapiText() {
  const { openapiDocument } = await built("doors/rest/openapi/document.js");
  const image = execFileSync(join(bin, "buf"), ["build", "-o", "-#format=binpb"], { cwd: root });
  return asText(openapiDocument(image));
}

const openapi = "gen/openapi.json";
const page = "gen/console.html";

/** Does something with what buf makes, in a folder of its own: where that fails, nothing is lost. */
async function generated(use) {
  const fresh = mkdtempSync(join(tmpdir(), "lintel-generate-"));
  try {
    buf("generate", "-o", fresh);
    return await use(fresh);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Puts what buf made in place. What is not made by buf stays until it is made anew. */
function take(fresh) {
  for (const name of differences(join(fresh, "gen"), join(root, "gen"))) {
    const [made, own] = [join(fresh, "gen", name), join(root, "gen", name)];
    if (existsSync(made)) replace(own, readFileSync(made));
    else if (![openapi, page].includes(`gen/${name}`)) rmSync(own);
  }
}

const schemaFile = join(root, "lintel.schema.json");
if (check) {
  const stale = await generated(async (fresh) => {
    writeFileSync(join(fresh, openapi), await openapiText());
    writeFileSync(join(fresh, page), await consolePage());
    return differences(join(fresh, "gen"), join(root, "gen")).map((name) => `gen/${name}`);
  });
  const committed = existsSync(schemaFile) ? readFileSync(schemaFile, "utf8") : "";
  if (committed !== (await schemaText())) stale.push("lintel.schema.json");
  for (const name of stale) console.error(`stale: ${name}`);
  if (stale.length) {
    console.error("run `npm run generate` and commit what it writes");
    process.exitCode = 1;
  }
} else {
  await generated(take);
  replace(join(root, page), await consolePage());
  replace(join(root, openapi), await openapiText());
  replace(schemaFile, await schemaText());
}
