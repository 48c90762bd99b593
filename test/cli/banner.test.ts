/** What `lintel serve` says once it listens: what to try, in words that a shell takes. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { type BannerFacts, banner } from "../../src/cli/banner.js";
import { chatModel, imageModel } from "../support/models.js";

const facts: BannerFacts = {
  version: "1",
  file: undefined,
  addresses: ["http://0.0.0.0:8080"],
  models: [],
  silent: [],
  hasBackend: false,
  auth: "public",
  console: true,
  workers: 1,
};

/** A model of one backend. */
const served = (model: BannerFacts["models"][number]["model"], where = "http://gpu:8000") => ({
  model,
  backend: "gpu",
  where,
  others: [],
});

test("without models there is nothing to try, and it says so", () => {
  const text = banner({ ...facts, file: "lintel.yaml" });
  expect(text).toContain("  Settings:  lintel.yaml\n");
  expect(text).toContain("  No models: there is no backend.\n");
  expect(text).not.toContain("curl");
  expect(banner(facts)).toContain("  Settings:  defaults (no lintel.yaml)\n");
  // All names have a *: there are backends, and calls are served.
  expect(banner({ ...facts, hasBackend: true })).toContain("  No models to list; names with *");
});

test("it names every way in that the README has for callers", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const [, table = ""] = /## Ways in\n(.*?)\n## /s.exec(readme) ?? [];
  const names = [...table.matchAll(/^\| (\w[^|]*?) +\|/gm)].flatMap(([, cell = ""]) =>
    cell.split(", "),
  );
  const others = ["Protocol", "Reflection", "health", "Browsers", "Operations"];
  const ways = names.filter((name) => !others.includes(name));
  expect(ways.length).toBeGreaterThan(5);
  const [line = ""] = /^ *One port: .*$/m.exec(banner(facts)) ?? [];
  expect(ways.filter((name) => !line.includes(name))).toEqual([]);
});

test("a browser is told where to look, unless there is no page, or only a socket", () => {
  const told = (different: Partial<BannerFacts>) =>
    /^ *Browser: +(.*)$/m.exec(banner({ ...facts, ...different }))?.[1];
  expect(told({})).toBe("http://127.0.0.1:8080/");
  expect(told({ addresses: ["unix:/run/l.sock", "https://a.example:1"] })).toBe(
    "https://a.example:1/",
  );
  expect(told({ console: false })).toBeUndefined();
  expect(told({ addresses: ["unix:/run/l.sock"] })).toBeUndefined();
});

test("models are told with where they run and how they are, one line each", () => {
  const failed = imageModel("pic", { state: State.FAILED, stateDetail: "\u001b[2Jtoo large" });
  const models = [
    { ...served(chatModel("big", { isDefault: true })), others: ["spare"] },
    { ...served(failed), backend: "embedded", where: "embedded" },
  ];
  const silent = [{ backend: "away", where: "http://away:1" }];
  const lines = banner({ ...facts, models, silent, workers: 4 }).split("\n");
  const rows = lines.map((line) => line.trim().split(/ {2,}/));
  expect(rows).toContainEqual(["Workers:", "4 processes at the same addresses"]);
  expect(rows).toContainEqual(["chat", "big (default)", "gpu, http://gpu:8000; spare", "ready"]);
  expect(rows).toContainEqual(["image", "pic", "embedded", "failed: too large"]);
  expect(rows).toContainEqual(["?", "away", "http://away:1", "does not answer yet"]);
});

test("of many models fifty are told, what matters among them, and how many there are besides", () => {
  const ids = Array.from({ length: 52 }, (_, i) => `m${i}`);
  const models = ids.map((id) => {
    const failed = id === "m51" ? { state: State.FAILED, stateDetail: "too large" } : {};
    return served(chatModel(id, { isDefault: id === "m50", ...failed }));
  });
  const text = banner({ ...facts, models });
  const named = [...text.matchAll(/^ {2}chat +(\S+)/gm)].map(([, id]) => id);
  expect(named).toEqual([...ids.slice(0, 48), "m50", "m51"]);
  expect(text).toMatch(/failed: too large\n {2}and 2 more models: lintel models lists all\n\nTry:/);
  const fifty = banner({ ...facts, models: models.slice(2) });
  expect(fifty).not.toContain("more models");
  expect(fifty.match(/^ {2}chat /gm)).toHaveLength(50);
});

test("on Windows what to try is Lintel's own commands, which every shell there reads alike", () => {
  const models = [served(chatModel("a")), served(imageModel("b"))];
  const tries = (more: Partial<BannerFacts>) =>
    banner({ ...facts, models, ...more }, true)
      .split("Try:\n")[1]
      ?.split("\n");
  expect(tries({})).toEqual([
    "  npx lintel chat Hello --server http://127.0.0.1:8080",
    '  npx lintel image "a red circle on a blue background" --server http://127.0.0.1:8080',
  ]);
  const pipe = String.raw`unix:\\.\pipe\lintel`;
  expect(tries({ auth: "token", addresses: [pipe], models: models.slice(0, 1) })).toEqual([
    `  npx lintel chat Hello --server "${pipe}" --token TOKEN`,
  ]);
  expect(tries({ models: [] })).toBeUndefined();
});

test.each<[string, Partial<BannerFacts>, string, string]>([
  ["any token", {}, "http://127.0.0.1:8080/llm", "Authorization: Bearer me"],
  [
    "every address of IPv6, too",
    { addresses: ["http://[::]:8080"] },
    "http://localhost:8080/llm",
    "Authorization: Bearer me",
  ],
  ["issued tokens", { auth: "token" }, "http://127.0.0.1:8080/llm", "Authorization: Bearer lt_x"],
  [
    "a socket with a name of its own",
    { addresses: ["unix:/tmp/it's $HOME.sock", "http://127.0.0.1:1"] },
    "--unix-socket /tmp/it's $HOME.sock http://localhost/llm",
    "Authorization: Bearer me",
  ],
])("what to try is a command as it stands: %s", (_, more, address, header) => {
  const models = [served(chatModel("a")), served(imageModel("b"))];
  const [, tries = ""] = banner({ ...facts, ...more, models }).split("Try:\n");
  const shell = spawnSync("sh", ["-c", `curl() { printf '%s\\n' "$*"; }\n${tries}`], {
    env: { TOKEN: "lt_x", HOME: "/root" },
    encoding: "utf8",
  });
  const [chat, image, end] = shell.stdout.split("\n");
  expect(chat).toContain(
    `${address} -H ${header} -H Content-Type: application/json -d {"messages"`,
  );
  expect(image).toContain(`${address.replace(/llm$/, "text-to-image")} -H ${header} `);
  expect([shell.stderr, end]).toEqual(["", ""]);
});
