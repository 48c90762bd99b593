/** A log in a file that has no more room, as on a full disk: the system says so of a file that may not grow, too. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { folder } from "./lintel.js";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const numbersTo = (most: number) => Array.from({ length: most }, (_, i) => i + 1);

const prlimit = "/usr/bin/prlimit";
const noLimits = !existsSync(prlimit);
const why = noLimits ? ` (skipped: there is no ${prlimit})` : "";

/** Less than `logging.ts` writes in one go. */
const room = 8192;

/** A process that logs 300 lines to a file, behind what is in it, and 300 more when it is asked to. */
async function logging(text: string) {
  const log = join(folder(), "lintel.log");
  writeFileSync(log, text);
  const fd = openSync(log, "a");
  const loader = path("../../scripts/typescript-loader.js");
  const program = ["--import", loader, path("logging.ts"), "more"];
  const child = spawn(process.execPath, program, { stdio: ["pipe", "ignore", fd] });
  closeSync(fd);
  onTestFinished(() => void child.kill("SIGKILL"));
  const read = () => readFileSync(log, "utf8");
  /** What it has, once a line is there. */
  const upTo = async (n: number) => {
    await expect.poll(read, { timeout: 30_000 }).toMatch(new RegExp(`"n":${n},.*\\n$`));
    return read().trimEnd().split("\n");
  };
  const limit = async (bytes: number) => {
    const limiting = spawn(prlimit, ["--pid", String(child.pid), `--fsize=${bytes}:`]);
    expect(await once(limiting, "close")).toEqual([0, null]);
  };
  return {
    ...{ log, read, upTo, limit },
    /** Has it log more, of which half of a line is the last that there is room for. */
    async fill() {
      await upTo(300);
      const most = statSync(log).size + room;
      await limit(most);
      child.stdin?.write("more");
      await expect.poll(() => statSync(log).size, { timeout: 30_000 }).toBe(most);
      const lines = read().split("\n");
      const half = lines.pop() ?? "";
      expect(half).not.toBe("");
      return { lines, half };
    },
    async end() {
      child.stdin?.end("more");
      expect(await once(child, "close")).toEqual([0, null]);
    },
  };
}

const numbers = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).n);

test.skipIf(noLimits)(
  `what it took half of is written whole where it is emptied${why}`,
  async () => {
    const it = await logging("");
    const { lines, half } = await it.fill();
    truncateSync(it.log);
    const after = await it.upTo(600);
    expect(after[0]?.startsWith(half)).toBe(true);
    expect(numbers([...lines, ...after])).toEqual(numbersTo(600));
    await it.end();
  },
);

test.skipIf(noLimits)(
  `what it took half of is completed once there is more room${why}`,
  async () => {
    const it = await logging("");
    await it.fill();
    await it.limit(1_000_000);
    expect(numbers(await it.upTo(600))).toEqual(numbersTo(600));
    await it.end();
  },
);

test("what a process before left half of a line has lines of its own behind it", async () => {
  const half = '{"level":30,"ti';
  const it = await logging(`{}\n${half}`);
  const [whole, broken, ...lines] = await it.upTo(300);
  expect([whole, broken]).toEqual(["{}", half]);
  expect(numbers(lines)).toEqual(numbersTo(300));
  await it.end();
  const next = await logging('{"n":0}\n');
  expect(numbers(await next.upTo(300))).toEqual([0, ...numbersTo(300)]);
  await next.end();
});
