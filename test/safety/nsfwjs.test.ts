/** A checker that is a model of nsfwjs. */
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { ThreadChecker } from "../../src/safety/thread.js";
import { never } from "../support/calls.js";
import { blue, opened, picture, red } from "./checking.js";

describe("nsfwjs", () => {
  test("says what to install where it is not", async () => {
    const checker = await opened({ type: "nsfwjs", labels: ["Porn"], threshold: 0.5 });
    const error = await checker.isHarmful(red, never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "unavailable" });
    expect(String((error as Error).cause)).toContain("npm install nsfwjs @tensorflow/tfjs");
  });

  /** Packages with the interface of nsfwjs 4.3 and TensorFlow.js 4.22, and a model that knows red. */
  function installed(more = "", looks = ""): string {
    const folder = mkdtempSync(join(tmpdir(), "lintel-nsfwjs-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const write = (name: string, code: string) => {
      const path = join(folder, "node_modules", name);
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, "package.json"), JSON.stringify({ name, main: "index.js" }));
      writeFileSync(join(path, "index.js"), code);
    };
    write(
      "@tensorflow/tfjs",
      `let living = 0;
      exports.tensor3d = (values, shape, dtype) => {
        if (!(values instanceof Int32Array) || dtype !== "int32") throw new Error("wrong type");
        if (values.length !== shape[0] * shape[1] * shape[2]) throw new Error("wrong shape");
        if (++living > 1) throw new Error("a tensor was not disposed of");
        return { values, shape, dispose: () => living-- };
      };`,
    );
    write(
      "nsfwjs",
      `require("@tensorflow/tfjs");
      ${more}
      exports.load = async (model = "MobileNetV2") => ({
        classify: async ({ values, shape }, most = 5) => {
          ${looks}
          if (shape[0] !== 24 || shape[1] !== 40) throw new Error("rows and columns are mixed up");
          const red = values[0] > 200 && values[2] < 50 ? 0.4 : 0.1;
          return [
            { className: "Porn", probability: red },
            { className: "Hentai", probability: model === "strict" ? 0.3 : 0.15 },
            { className: "Neutral", probability: 0.2 },
          ].slice(0, most);
        },
      });`,
    );
    return folder;
  }

  test("is asked where it is installed, with its own labels", async () => {
    const labels = ["Porn", "Hentai", "of another model"];
    for (const [model, ...verdicts] of [
      [undefined, true, false],
      ["strict", true, false],
    ] as const) {
      const threshold = model === "strict" ? 0.6 : 0.5;
      const settings = { kind: "nsfwjs", model, labels, threshold } as const;
      const checker = new ThreadChecker({ ...settings, folder: installed() }, silent);
      onTestFinished(() => checker.close());
      for (const [i, png] of [red, blue].entries()) {
        expect(await checker.isHarmful(png, never)).toBe(verdicts[i]);
      }
    }
  });

  test("a picture that nobody waits for any more is not looked at", async () => {
    const here = mkdtempSync(join(tmpdir(), "lintel-nsfwjs-"));
    onTestFinished(() => rmSync(here, { recursive: true }));
    const [log, gate] = [join(here, "log"), join(here, "gate")];
    const folder = installed(`const { appendFileSync, existsSync } = require("node:fs");
      const tf = require("@tensorflow/tfjs");
      const { tensor3d } = tf;
      const sleeper = new Int32Array(new SharedArrayBuffer(4));
      tf.tensor3d = (...picture) => {
        appendFileSync(${JSON.stringify(log)}, "x");
        while (!existsSync(${JSON.stringify(gate)})) Atomics.wait(sleeper, 0, 0, 5);
        return tensor3d(...picture);
      };`);
    const settings = { kind: "nsfwjs", labels: ["Porn"], threshold: 0.3 } as const;
    const checker = new ThreadChecker({ ...settings, folder }, silent);
    onTestFinished(() => checker.close());
    const first = checker.isHarmful(red, never);
    await vi.waitUntil(() => existsSync(log));
    const caller = new AbortController();
    const left = [1, 2, 3].map(() => checker.isHarmful(red, caller.signal));
    caller.abort(new Error("left"));
    left.push(checker.isHarmful(red, caller.signal));
    for (const it of left) await expect(it).rejects.toThrow("left");
    const last = checker.isHarmful(blue, never);
    writeFileSync(gate, "");
    expect([await first, await last]).toEqual([true, false]);
    expect(readFileSync(log, "utf8")).toBe("xx");
  });

  test.each([
    ["ends", "process.exit()", "the safety checker's thread ended"],
    ["fails", 'queueMicrotask(() => { throw new Error("boom"); })', "boom"],
  ])("a thread that %s is started again by the next picture", async (_, how, why) => {
    const folder = installed("", `if (values[1] > 200) await new Promise(() => ${how});`);
    const settings = { kind: "nsfwjs", labels: ["Porn"], threshold: 0.3 } as const;
    const said: string[] = [];
    const log = { ...silent, error: (_: object, message: string) => void said.push(message) };
    const checker = new ThreadChecker({ ...settings, folder }, log);
    onTestFinished(() => checker.close());
    expect(await checker.isHarmful(red, never)).toBe(true);
    const ends = async () => {
      const error = await checker.isHarmful(picture(0, 255, 0), never).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: "unavailable" });
      return String(error.cause);
    };
    expect(await ends()).toContain(why);
    expect(await checker.isHarmful(red, never)).toBe(true);
    await ends();
    rmSync(join(folder, "node_modules"), { recursive: true });
    for (const _ of ["started", "not again so soon"]) {
      expect(await ends()).toContain("packages that are not installed");
    }
    const ended = "the safety checker ended";
    expect(said).toEqual([ended, ended, "the safety checker can't be loaded"]);
  });

  test("is closed though its load hangs", async () => {
    const here = mkdtempSync(join(tmpdir(), "lintel-nsfwjs-"));
    onTestFinished(() => rmSync(here, { recursive: true }));
    // Nobody can connect to it once the thread that holds it is gone.
    const socket = join(here, "socket");
    const folder = installed(`require("node:net").createServer().listen(${JSON.stringify(socket)});
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`);
    const settings = { kind: "nsfwjs", labels: ["Porn"], threshold: 0.5 } as const;
    const checker = new ThreadChecker({ ...settings, folder }, silent);
    const checked = expect(checker.isHarmful(red, never)).rejects.toThrow("can't be done now");
    await vi.waitUntil(() => existsSync(socket));
    await checker.close();
    await checked;
    await expect(once(connect(socket), "connect")).rejects.toThrow();
  });

  test("says what is wrong with it where it can't be loaded", async () => {
    const settings = { kind: "nsfwjs", labels: ["Porn"], threshold: 0.5 } as const;
    const folder = installed('require("gone");');
    const checker = new ThreadChecker({ ...settings, folder }, silent);
    onTestFinished(() => checker.close());
    const error = await checker.isHarmful(red, never).catch((thrown: unknown) => thrown);
    expect(String((error as Error).cause)).toContain("nsfwjs can't be loaded: Cannot find module");
  });
});
