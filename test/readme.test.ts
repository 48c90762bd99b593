/** The README's commands, run as they stand there; only the port is another. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { PNG } from "pngjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gs"))].map(
    ([, text = ""]) => text,
  );

const state = mkdtempSync(join(tmpdir(), "lintel-readme-"));
let server: ChildProcess;
let banner = "";
let base = "";

/** The one block that has all of these words. */
function block(...words: string[]): string {
  const found = blocks("sh").filter((text) => words.every((word) => text.includes(word)));
  expect(found.length).toBe(1);
  return found[0] ?? "";
}

/** Runs a block in a shell, against the server of this test. */
async function run(text: string): Promise<string> {
  const command = text.replaceAll("http://127.0.0.1:8080", base);
  const { stdout } = await promisify(execFile)("bash", ["-euc", command], { cwd: root });
  return stdout;
}

beforeAll(async () => {
  expect(block("npm cit")).toContain("npm ci && npm start");
  server = spawn("npm", ["start"], {
    cwd: root,
    env: { ...process.env, PORT: "0", XDG_STATE_HOME: state },
    stdio: ["ignore", "pipe", "inherit"],
    // npm and what it starts, to be ended together.
    detached: true,
  });
  for await (const text of server.stdout?.setEncoding("utf8") ?? []) {
    banner += text;
    base = /http:\/\/127\.0\.0\.1:\d+/.exec(banner)?.[0] ?? "";
    if (banner.includes("Try:")) break;
  }
});

afterAll(async () => {
  const gone = server.exitCode !== null || server.signalCode !== null;
  if (!gone && server.pid) {
    process.kill(-server.pid, "SIGTERM");
    await once(server, "exit");
  }
  rmSync(state, { recursive: true, force: true });
});

/** Models load while the first call waits. */
const patience = { timeout: 180_000 };

describe("the README's commands", () => {
  it("the banner names the models, where they run, and what to try", () => {
    expect(banner).toMatch(/chat +lintel-chat \(default\) +embedded/);
    expect(banner).toMatch(/image +lintel-image \(default\) +embedded/);
    expect(banner).toContain(`curl ${base}/llm`);
    expect(banner).toContain(`curl ${base}/text-to-image`);
  });

  it("text is streamed by curl", patience, async () => {
    const stdout = await run(block("/llm"));
    const events = stdout.trim().split("\n\n");
    expect(events.pop()).toBe("data: [DONE]");
    const chunks = events.map((event) => JSON.parse(event.replace("data: ", "")));
    expect(chunks.map((c) => c.choices[0].delta.content).join("").length).toBeGreaterThan(1);
    expect(chunks.at(-1).choices[0].finish_reason).toBe("stop");
  });

  it("a picture is made, and is at its address", patience, async () => {
    const { images } = JSON.parse(await run(block("/text-to-image")));
    const picture = await fetch(images[0].url);
    expect(picture.headers.get("content-type")).toBe("image/png");
    const { width, height } = PNG.sync.read(Buffer.from(await picture.arrayBuffer()));
    expect([width, height]).toEqual([1024, 576]);
  });

  it("gRPC by buf curl", patience, async () => {
    expect(await run(block("buf curl"))).toContain(
      '"finish_reason": "stop"'.replace("finish_reason", "finishReason"),
    );
  });

  it("OpenAI's form", patience, async () => {
    const answer = JSON.parse(await run(block("/v1/chat/completions")));
    expect(answer.choices[0].message.content).toContain("Lintel");
  });

  it("text and a picture on the terminal", patience, async () => {
    const file = join(state, "star.png");
    const text = block("lintel chat").replace("star.png", file);
    const stdout = await run(`export LINTEL_SERVER=${base}\n${text}`);
    expect(stdout).toMatch(/^.{10,}$/m);
    expect(stdout).toContain(`${file}  seed `);
    expect(PNG.sync.read(readFileSync(file))).toMatchObject({ width: 1024, height: 576 });
  });

  it("SIGTERM to npm ends the gateway, not only npm", async () => {
    server.kill("SIGTERM");
    const answers = () =>
      fetch(`${base}/healthz`).then(
        () => true,
        () => false,
      );
    while (await answers()) await new Promise((resolve) => setTimeout(resolve, 50));
  });

  it("lintel.yaml is a valid configuration", async () => {
    const file = join(state, "lintel.yaml");
    writeFileSync(file, blocks("yaml")[0] ?? "");
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["dist/src/main.js", "check", "--config", file],
      { cwd: root },
    );
    expect(stdout).toContain("ok");
  });
});
