/**
 * How long it takes from the command to the first answer of `/healthz`, and to
 * the first answers of the embedded models. Run by `npm run bench:start`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";

const rounds = 5;
const port = 18_473;
const base = `http://127.0.0.1:${port}`;
const headers = { authorization: "Bearer me", "content-type": "application/json" };

/** Milliseconds from `since` until a request is answered with 200. */
async function until(since: number, path: string, body?: object): Promise<number> {
  for (;;) {
    try {
      const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : {};
      const response = await fetch(base + path, init);
      await response.text();
      if (response.status === 200) return performance.now() - since;
    } catch {
      // Nobody listens yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** npm leaves ahead of what it started, which goes on to answer on connections that are kept. */
async function untilGone(group: number): Promise<void> {
  for (;;) {
    try {
      process.kill(-group, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function measure(command: string, ...args: string[]): Promise<Record<string, number>> {
  const since = performance.now();
  const server = spawn(command, args, {
    env: { ...process.env, PORT: String(port) },
    stdio: "ignore",
    // npm and what it starts, to be ended together.
    detached: true,
  });
  const health = await until(since, "/healthz");
  const messages = [{ role: "user", content: "Hello" }];
  const text = await until(since, "/llm", { messages, max_tokens: 1 });
  const prompt = "a red circle on a blue background";
  const small = { prompt, width: 64, height: 64, num_inference_steps: 1 };
  const picture = await until(since, "/text-to-image", small);
  const { pid = 0 } = server;
  process.kill(-pid, "SIGTERM");
  await once(server, "exit");
  await untilGone(pid);
  return { health, text, picture };
}

const commands = { "npm start": ["npm", "start"], node: ["node", "dist/src/main.js"] };
console.log(`milliseconds, medians of ${rounds} interleaved rounds, Node ${process.version}`);
const all = new Map<string, Record<string, number>[]>();
for (let round = 0; round < rounds; round++) {
  for (const [name, [command = "", ...args]] of Object.entries(commands)) {
    all.set(name, [...(all.get(name) ?? []), await measure(command, ...args)]);
  }
}
console.log("             /healthz  first text  first picture");
for (const [name, results] of all) {
  const median = (key: string) =>
    Math.round(results.map((r) => r[key] ?? 0).sort((a, b) => a - b)[rounds >> 1] ?? 0);
  const cells = [median("health"), median("text"), median("picture")];
  console.log(`${name.padEnd(11)}${cells.map((ms) => String(ms).padStart(11)).join("")}`);
}
