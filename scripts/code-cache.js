/**
 * Keeps the code that V8 makes of the bundle while a gateway starts, so that the
 * next start has not to compile it. Run by scripts/bundle.js, in a process of its own
 * since that gateway is a whole one:
 *
 *   node scripts/code-cache.js dist/bundle/run.cjs
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { loadBundle } from "../dist/src/bundle.js";
import { tuneV8 } from "../dist/src/v8.js";
import { replace } from "./replace.js";

const file = resolve(process.argv[2]);

// Addresses of the gateway that is built for are none of the one that runs here: whoever asks
// there would take it for that one.
for (const name of ["HOST", "PORT"]) delete process.env[name];
tuneV8();
const { exports, script, cache } = loadBundle(file);

/** A port that nobody listens on. */
function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

const folder = mkdtempSync(join(tmpdir(), "lintel-code-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const port = await freePort();
const config = join(folder, "lintel.yaml");
// What most gateways have; nobody listens at the model server's address.
writeFileSync(
  config,
  JSON.stringify({
    listen: `127.0.0.1:${port}`,
    backends: [{ type: "openai", name: "any", url: "http://127.0.0.1:9", models: ["any"] }],
    log: { level: "error" },
    media: { directory: join(folder, "media") },
    state: { directory: folder },
  }),
);
void exports.run(["serve", "--config", config]);
const until = Date.now() + 20_000;
for (;;) {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
  if (answer?.ok) break;
  if (Date.now() > until) throw new Error("the gateway does not start");
  await new Promise((wake) => setTimeout(wake, 20));
}
replace(cache, script.createCachedData());
process.exit(0);
