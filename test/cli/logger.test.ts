import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const all = Array.from({ length: 300 }, (_, i) => i + 1);

function logging(
  end:
    | "exit"
    | "throw"
    | "stay"
    | "said"
    | "failed"
    | "warned"
    | "long"
    | "flood"
    | "relayed"
    | "blocked",
) {
  const loader = path("../../scripts/typescript-loader.js");
  const child = spawn(process.execPath, ["--import", loader, path("logging.ts"), end], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  let text = "";
  const said = () =>
    text
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  const read = () =>
    child.stderr.setEncoding("utf8").on("data", (more) => {
      text += more;
    });
  const other = () => text.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
  return { child, read, said, other, lines: () => said().map(({ n }) => n) };
}

it.each(["exit", "throw"] as const)("nothing of the log is lost by an end: %s", async (end) => {
  const { child, read, lines } = logging(end);
  read();
  const [code] = await once(child, "close");
  expect(code).toBe(end === "exit" ? 3 : 1);
  // What was being written in the background may come last.
  expect(lines().sort((a, b) => a - b)).toEqual(all);
});

it("writes what waits while the process goes on", async () => {
  const { child, read, lines } = logging("stay");
  read();
  while (lines().length < all.length) await once(child.stderr, "data");
  expect(lines()).toEqual(all);
  child.stdin.end();
  expect(await once(child, "close")).toEqual([0, null]);
});

it("holds the beginning of what a model server said", async () => {
  const { child, read, said } = logging("said");
  read();
  expect(await once(child, "close")).toEqual([0, null]);
  expect(said().at(-1)).toMatchObject({ n: 0, said: `${"x".repeat(4000)}…` });
});

it("has a stack where the fault may be our own, else words down to the first cause", async () => {
  const { child, read, said } = logging("failed");
  read();
  expect(await once(child, "close")).toEqual([0, null]);
  const refused = "connect 127.0.0.1:1 (ECONNREFUSED)";
  const stack = (words: string) => expect.stringMatching(new RegExp(`${words}[^]*logging.ts`));
  expect(
    said()
      .slice(300)
      .map(({ err }) => err),
  ).toEqual([
    {
      type: "LintelError",
      code: "upstream_unreachable",
      message: `nobody is there: ${refused}`,
    },
    { type: "Error", code: "ECONNREFUSED", message: refused },
    expect.objectContaining({ type: "LintelError", stack: stack("no x") }),
    { type: "Refusal", message: "it is full" },
    expect.objectContaining({ type: "Error", stack: stack("of a library") }),
    "a word",
  ]);
});

it("has what Node or a library warns of, as lines of its own form", async () => {
  const { child, read, said, other } = logging("warned");
  read();
  expect(await once(child, "close")).toEqual([0, null]);
  const msg = "Node or a library warns";
  // Of Node it comes a moment later.
  expect(said().slice(all.length)).toMatchObject([
    { said: "a needless password", msg },
    { said: "of a library", msg },
    { warning: "OldWarning", said: "version 20\nis old", msg },
  ]);
  expect(other()).toEqual([]);
});

it("writes a line that is longer than what may wait, and those around it", async () => {
  const { child, read, said, lines } = logging("long");
  read();
  while (lines().length < all.length) await once(child.stderr, "data");
  child.stdin.end("go on");
  await once(child, "close");
  expect(said().slice(all.length)).toMatchObject([{ n: 301 }, { n: 302 }, { n: 303 }]);
});

// What is relayed, as of workers, comes in several lines at once.
it.each(["flood", "relayed"] as const)(
  "keeps so much of what nobody reads, and says how many lines are lost: %s",
  async (how) => {
    const { child, read, said, lines } = logging(how);
    await once(child.stdout, "data");
    read();
    child.stdin.end();
    await once(child, "close");
    const notice = said().at(-1);
    expect(notice).toMatchObject({ level: 40, msg: expect.stringContaining("lost") });
    const kept = lines().slice(0, -1);
    expect(kept).toEqual(kept.map((_, i) => i + 1));
    expect(kept.length).toBeGreaterThan(500);
    expect(notice.lost).toBe(3000 - kept.length);
    expect(notice.lost).toBeGreaterThan(1000);
  },
);

it("a process ends also where nobody reads its log", async () => {
  const { child } = logging("blocked");
  expect(await once(child, "exit")).toEqual([3, null]);
});
