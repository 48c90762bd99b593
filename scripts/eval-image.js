/**
 * The figures of the embedded image model, of pictures that a whole gateway
 * draws: held-out prompts, sizes, places, several things, gradients, its LoRA.
 * Fails if fewer than 90 of 100 held-out prompts come out in the asked colours.
 * Needs a Python with numpy and Pillow, as in models/image/requirements.txt:
 * LINTEL_IMAGE_PYTHON, or python3. More options are evaluate.py's.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildIfStale } from "./build.js";

const root = join(import.meta.dirname, "..");
const python = process.env.LINTEL_IMAGE_PYTHON ?? "python3";
const needed = "numpy and Pillow, as in models/image/requirements.txt";

/** What the gateway says that it listens at, once it does. */
async function addressOf(child) {
  let said = "";
  for await (const part of child.stdout) {
    said += part;
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
    if (url) return url;
  }
  throw new Error(`the gateway did not start: ${said}`);
}

if (spawnSync(python, ["-c", "import numpy, PIL"]).status !== 0) {
  console.error(
    `pictures can't be judged: point LINTEL_IMAGE_PYTHON to a Python that has ${needed}`,
  );
  process.exit(1);
}
if ((await buildIfStale()) !== 0) process.exit(1);

const state = mkdtempSync(join(tmpdir(), "lintel-eval-"));
writeFileSync(join(state, "lintel.yaml"), "listen: 127.0.0.1:0\nlog: { level: error }\n");
const gateway = spawn(process.execPath, [join(root, "dist/src/main.js"), "serve"], {
  cwd: state,
  env: { ...process.env, XDG_STATE_HOME: state },
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = once(gateway, "exit");
try {
  const server = await addressOf(gateway);
  gateway.stdout.resume();
  const script = join(root, "models/image/evaluate.py");
  const judge = spawn(
    python,
    [
      "-B",
      script,
      "--server",
      server,
      "--least",
      "90",
      "--lora",
      "pastel",
      ...process.argv.slice(2),
    ],
    { stdio: "inherit" },
  );
  const [code] = await once(judge, "exit");
  process.exitCode = code ?? 1;
} finally {
  gateway.kill();
  await ended;
  rmSync(state, { recursive: true, force: true });
}
