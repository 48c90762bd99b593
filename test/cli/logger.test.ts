import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const all = Array.from({ length: 300 }, (_, i) => i + 1);

function logging(end: "exit" | "throw" | "stay" | "said") {
  const loader = path("../../scripts/typescript-loader.js");
  const child = spawn(process.execPath, ["--import", loader, path("logging.ts"), end], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  let text = "";
  const lines = () =>
    text
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line).n);
  child.stderr.setEncoding("utf8").on("data", (more) => {
    text += more;
  });
  return { child, lines, text: () => text };
}

it.each(["exit", "throw"] as const)("nothing of the log is lost by an end: %s", async (end) => {
  const { child, lines } = logging(end);
  const [code] = await once(child, "close");
  expect(code).toBe(end === "exit" ? 3 : 1);
  // What was being written in the background may come last.
  expect(lines().sort((a, b) => a - b)).toEqual(all);
});

it("writes what waits while the process goes on", async () => {
  const { child, lines } = logging("stay");
  while (lines().length < all.length) await once(child.stderr, "data");
  expect(lines()).toEqual(all);
  child.stdin.end();
  expect(await once(child, "close")).toEqual([0, null]);
});

it("holds the beginning of what a model server said", async () => {
  const { child, text } = logging("said");
  expect(await once(child, "close")).toEqual([0, null]);
  const line = text().trimEnd().split("\n").at(-1) ?? "";
  expect(JSON.parse(line)).toMatchObject({ n: 0, said: `${"x".repeat(4000)}…` });
});
