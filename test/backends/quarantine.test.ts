/** Which models are left out after their loading ended the process, on both sides of the channel. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { ReportedLoads } from "../../src/backends/embedded/loads.js";
import { embeddedMark, type LoadReport, ordersOf } from "../../src/backends/embedded/mark.js";
import { Quarantine } from "../../src/backends/embedded/quarantine.js";
import { silent } from "../../src/core/log.js";

const loading = (model: string, stamp = "1") => ({ lintel: "loading", model, stamp }) as const;
const loaded = (model: string) => ({ lintel: "loaded", model }) as const;

function quarantine() {
  const kept = new Quarantine(silent);
  return {
    life(reports: readonly LoadReport[], ending = "ended by SIGABRT") {
      for (const report of reports) kept.heard(report);
      kept.died(ending);
      return this.orders();
    },
    orders() {
      const { oneByOne, heldBack } = kept.orders();
      return { oneByOne, held: heldBack.map(({ model }) => model), ms: heldBack[0]?.ms ?? 0 };
    },
    heard: (report: LoadReport) => kept.heard(report),
  };
}

it("a model is held back whose loading ended the process twice, the second time alone", () => {
  const all = quarantine();
  expect(all.life([loading("a"), loading("b")])).toMatchObject({ oneByOne: true, held: [] });
  expect(all.life([loading("a"), loaded("a"), loading("b")]).held).toEqual(["b"]);
});

it("a model is not held back for what ends the process once, or while others load, or after it was loaded", () => {
  const all = quarantine();
  expect(all.life([loading("a")]).held).toEqual([]);
  expect(all.life([loading("a"), loading("b")]).held).toEqual([]);
  expect(all.life([loading("a"), loaded("a")]).held).toEqual([]);
  expect(all.life([loading("a")]).held).toEqual([]);
  // Other files are another model.
  expect(all.life([loading("a", "2")]).held).toEqual([]);
  expect(all.life([loading("a", "2")]).held).toEqual(["a"]);
});

it("a model is tried after a pause that grows, and is like any other once it is loaded", () => {
  const all = quarantine();
  const now = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => now.mockRestore());
  all.life([loading("a")]);
  const first = all.life([loading("a")]).ms;
  expect(first).toBeGreaterThan(0);
  now.mockReturnValue(first);
  expect(all.orders()).toMatchObject({ held: ["a"], ms: 0 });
  let last = all.life([loading("a")]).ms;
  expect(last).toBeGreaterThanOrEqual(first);
  for (let time = 0; time < 20; time++) last = all.life([loading("a")]).ms;
  expect(last).toBeGreaterThanOrEqual(12 * 3_600_000);
  expect(last).toBeLessThanOrEqual(24 * 3_600_000);
  all.heard(loading("a"));
  all.heard(loaded("a"));
  expect(all.orders()).toMatchObject({ oneByOne: false, held: [] });
});

async function child(told: object) {
  const folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "m.gguf");
  await writeFile(path, "model");
  const said: LoadReport[] = [];
  const loads = new ReportedLoads(
    ordersOf({ [embeddedMark]: JSON.stringify(told) }),
    async (report) => void said.push(report),
  );
  return { path, loads, said };
}

it("the process refuses what it is told to, as long as it is told, while the files are the same", async () => {
  const first = await child({ oneByOne: false, heldBack: [] });
  await first.loads.load("m", first.path, async () => {});
  const [report] = first.said;
  const stamp = report?.lintel === "loading" ? report.stamp : "";
  expect(first.said).toEqual([loading("m", stamp), loaded("m")]);

  const now = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => now.mockRestore());
  const held = { model: "m", stamp, ms: 100_000, ending: "ended by SIGABRT" };
  const { loads } = await child({ oneByOne: true, heldBack: [held] });
  const check = () => loads.check("m", first.path);
  expect(check).toThrow(
    "m: loading it ended the process of the models, which ended by SIGABRT; it is tried again once its files change, or in 2 minutes",
  );
  loads.check("other", first.path);
  now.mockReturnValue(100_000);
  check();
  now.mockReturnValue(0);
  expect(check).toThrow("ended the process");
  await writeFile(first.path, "another");
  check();
});

it("the process loads one after the other where it is told to, also after one that fails", async () => {
  const { path, loads, said } = await child({ oneByOne: true, heldBack: [] });
  const failing = loads.load("a", path, () => Promise.reject(new Error("no")));
  const then = loads.load("b", path, async () => said.map(({ lintel, model }) => lintel + model));
  await expect(failing).rejects.toThrow("no");
  expect(await then).toEqual(["loadinga", "loadeda", "loadingb"]);
});
