import { execFile, execFileSync } from "node:child_process";
import { getEventListeners, once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PNG } from "pngjs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Logger, silent } from "../../src/core/log.js";
import { type OwnedChecker, openChecker } from "../../src/safety/open.js";
import { ThreadChecker } from "../../src/safety/thread.js";
import { gate, never } from "../support/calls.js";

function picture(red: number, green: number, blue: number, width = 40, height = 24): Buffer {
  const image = new PNG({ width, height });
  for (let i = 0; i < image.data.length; i += 4) image.data.set([red, green, blue, 255], i);
  return PNG.sync.write(image);
}
const red = picture(230, 20, 20);
const blue = picture(20, 20, 230);

async function opened(
  settings: Parameters<typeof openChecker>[0],
  log: Logger = silent,
): Promise<OwnedChecker> {
  const checker = await openChecker(settings, log);
  if (!checker) throw new Error("there is a checker");
  onTestFinished(() => checker.close());
  return checker;
}

/** A log, and the first error that is written there. */
function logged() {
  let tell = (_: string) => {};
  const first = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const error = (fields: object, message: string) =>
    tell(`${message}: ${(fields as { err: Error }).err}`);
  return { log: { ...silent, error }, first };
}

/** Writes other values into a file of JSON. */
function change(folder: string, name: string, values: object): void {
  const path = join(folder, name);
  const before = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...before, ...values }));
}

test("none is opened where none is configured", async () => {
  expect(await openChecker(undefined, silent)).toBeUndefined();
});

describe("an image classifier in Hugging Face's ONNX layout", () => {
  const folder = join(import.meta.dirname, "classifier");
  const settings = {
    type: "classifier" as const,
    path: folder,
    labels: ["nsfw"],
    threshold: 0.5,
  };

  test("its certainty decides", async () => {
    const checker = await opened(settings);
    expect(await Promise.all([red, blue, red].map((png) => checker.isHarmful(png, never)))).toEqual(
      [true, false, true],
    );
  });

  test("the threshold and the labels are the operator's", async () => {
    // Means of 0.02 apart: a certainty of about 0.57.
    const reddish = picture(130, 0, 125);
    expect(await (await opened(settings)).isHarmful(reddish, never)).toBe(true);
    const strict = await opened({ ...settings, threshold: 0.9 });
    expect(await strict.isHarmful(reddish, never)).toBe(false);
    const other = await opened({ ...settings, labels: ["normal"] });
    expect(await other.isHarmful(blue, never)).toBe(true);
    const both = await opened({ ...settings, labels: ["normal", "nsfw"], threshold: 0.99 });
    expect(await both.isHarmful(blue, never)).toBe(true);
    const twice = await opened({ ...settings, labels: ["nsfw", "nsfw"], threshold: 0.9 });
    expect(await twice.isHarmful(reddish, never)).toBe(false);
  });

  test("one with a single label knows what is harmless, too", async () => {
    const copy = mkdtempSync(join(tmpdir(), "lintel-classifier-"));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(folder, copy, { recursive: true });
    cpSync(join(copy, "onnx/single.onnx"), join(copy, "onnx/model.onnx"));
    writeFileSync(join(copy, "config.json"), '{ "id2label": { "0": "nsfw" } }');
    const checker = await opened({ ...settings, path: copy });
    expect(await Promise.all([red, blue].map((png) => checker.isHarmful(png, never)))).toEqual([
      true,
      false,
    ]);
  });

  test("what a processor of newer transformers leaves open is as without it", async () => {
    const copy = mkdtempSync(join(tmpdir(), "lintel-classifier-"));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(folder, copy, { recursive: true });
    change(copy, "preprocessor_config.json", {
      ...{ crop_size: null, data_format: "channels_first", default_to_square: true },
      ...{ device: null, disable_grouping: null, do_center_crop: null, do_convert_rgb: null },
      ...{ image_processor_type: "ViTImageProcessorFast", input_data_format: null },
    });
    const checker = await opened({ ...settings, path: copy });
    expect(await Promise.all([red, blue].map((png) => checker.isHarmful(png, never)))).toEqual([
      true,
      false,
    ]);
  });

  /** Blue in the middle, and as much red on both sides. */
  function striped(width: number, height: number): Buffer {
    const image = new PNG({ width, height });
    const long = Math.max(width, height);
    for (let at = 0; at < width * height; at++) {
      const along = width > height ? at % width : Math.floor(at / width);
      const middle = along >= long / 4 && along < (long * 3) / 4;
      image.data.set(middle ? [0, 0, 255, 255] : [255, 0, 0, 255], at * 4);
    }
    return PNG.sync.write(image);
  }
  const reddish = picture(130, 0, 125);
  const sure = { threshold: 0.9 };
  const far = { image_mean: [-9, 0, 0], image_std: [0.01, 0.01, 0.01] };
  const cut = { size: { shortest_edge: 32 }, do_center_crop: true, crop_size: 32 };
  const wide = { ...cut, size: { height: 32, width: 128 } };
  test.each<[string, object, Buffer, object, boolean]>([
    ["scaled", {}, reddish, sure, false],
    ["not scaled", { do_rescale: false }, reddish, sure, true],
    ["normalized", far, blue, sure, true],
    ["not normalized", { ...far, do_normalize: false }, blue, sure, false],
    ["resized to a square", { size: 32 }, striped(64, 32), {}, true],
    ["resized to what is no square", wide, striped(64, 32), {}, false],
    [
      "whole where nothing is cut out",
      { crop_size: 16, do_center_crop: false },
      striped(128, 64),
      {},
      true,
    ],
    ["cut out of one that is wide", cut, striped(128, 64), {}, false],
    ["cut out of one that is high", { ...cut, resample: 3 }, striped(64, 128), {}, false],
  ])("a picture is shown %s", async (_, processor, png, more, harmful) => {
    const copy = mkdtempSync(join(tmpdir(), "lintel-classifier-"));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(folder, copy, { recursive: true });
    change(copy, "preprocessor_config.json", processor);
    const checker = await opened({ ...settings, ...more, path: copy });
    expect(await checker.isHarmful(png, never)).toBe(harmful);
  });

  test("what its processor does not say is as transformers has it", async () => {
    const copy = mkdtempSync(join(tmpdir(), "lintel-classifier-"));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(folder, copy, { recursive: true });
    writeFileSync(join(copy, "preprocessor_config.json"), '{ "size": 32 }');
    const less = await opened({ ...settings, threshold: 0.64, path: copy });
    expect(await less.isHarmful(reddish, never)).toBe(true);
    const surer = await opened({ ...settings, threshold: 0.66, path: copy });
    expect(await surer.isHarmful(reddish, never)).toBe(false);
  });

  test("labels that may hold at once are each certain by itself", async () => {
    const copy = mkdtempSync(join(tmpdir(), "lintel-classifier-"));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(folder, copy, { recursive: true });
    change(copy, "preprocessor_config.json", { image_mean: [0, 0, 0] });
    change(copy, "config.json", { problem_type: "multi_label_classification" });
    // The logit of "nsfw" is 0.31, and that of "normal" its negative: 0.58, of both together 0.65.
    const surer = await opened({ ...settings, threshold: 0.6, path: copy });
    expect(await surer.isHarmful(reddish, never)).toBe(false);
    const less = await opened({ ...settings, threshold: 0.57, path: copy });
    expect(await less.isHarmful(reddish, never)).toBe(true);
  });

  test("a picture smaller than what is cut out of it is looked at as it is, on black", async () => {
    const copy = mkdtempSync(join(tmpdir(), "lintel-classifier-"));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(folder, copy, { recursive: true });
    const crop = { do_resize: false, do_center_crop: true, crop_size: 32 };
    change(copy, "preprocessor_config.json", crop);
    const image = new PNG({ width: 40, height: 24 });
    const bluer = image.data.length * (13 / 24);
    for (let i = 0; i < image.data.length; i += 4) {
      image.data.set(i < bluer ? [20, 20, 230, 255] : [230, 20, 20, 255], i);
    }
    const checker = await opened({ ...settings, path: copy });
    expect(await checker.isHarmful(PNG.sync.write(image), never)).toBe(false);
  });

  test("a picture that can't be decoded has no verdict, and the next one has", async () => {
    const checker = await opened(settings);
    const { signal } = new AbortController();
    await expect(checker.isHarmful(red.subarray(0, 60), signal)).rejects.toMatchObject({
      code: "unavailable",
      message: "the safety check can't be done now",
    });
    expect(await checker.isHarmful(red, signal)).toBe(true);
    // Of a call that has many images it would be one for each.
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test.each<[string, (copy: string) => void, Partial<typeof settings>, RegExp]>([
    [
      "a label that it does not have",
      () => {},
      { labels: ["porn"] },
      /no "porn"; it has normal, nsfw/,
    ],
    ["no graph", (copy) => rmSync(join(copy, "onnx"), { recursive: true }), {}, /no model\.onnx/],
    [
      "half of a graph",
      (copy) => truncateSync(join(copy, "onnx/model.onnx"), 60),
      {},
      /onnx\/model\.onnx/,
    ],
    [
      "an answer in half precision",
      (copy) => cpSync(join(copy, "onnx/half.onnx"), join(copy, "onnx/model.onnx")),
      {},
      /onnx\/model\.onnx: logits is of float16, and only float32 is supported/,
    ],
    [
      "numbers that are none",
      (copy) => change(copy, "preprocessor_config.json", { image_std: [0, 0, 0] }),
      {},
      /not a number/,
    ],
    [
      "more labels than the graph has",
      (copy) =>
        change(copy, "config.json", { id2label: { 0: "normal", 1: "nsfw", 2: "violence" } }),
      {},
      /answers 2 numbers for 3 labels/,
    ],
    [
      "another way to resize",
      (copy) => change(copy, "preprocessor_config.json", { resample: 1 }),
      {},
      /only bilinear \(2\) and bicubic \(3\) resampling are supported/,
    ],
    ["no config", (copy) => rmSync(join(copy, "config.json")), {}, /config\.json/],
  ])(
    "%s: every check says why to the log, and nothing to the caller",
    async (_, spoil, other, words) => {
      const copy = mkdtempSync(join(tmpdir(), "lintel-classifier-"));
      cpSync(folder, copy, { recursive: true });
      spoil(copy);
      const checker = await opened({ ...settings, ...other, path: copy });
      const error = await checker.isHarmful(red, never).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: "unavailable",
        message: "the safety check can't be done now",
      });
      expect(String((error as Error).cause)).toMatch(words);
    },
  );

  test("one that can't be loaded is in the log before there is anything to check", async () => {
    const { log, first } = logged();
    await opened({ ...settings, labels: ["porn"] }, log);
    // Not any error: the log would have a stack of ours, which tells nothing of the file.
    expect(await first).toMatch(
      /^the safety checker can't be loaded: Refusal: .*no "porn"; it has normal/,
    );
  });

  test("one that can't be loaded is tried again by an image ten seconds later", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const copy = mkdtempSync(join(tmpdir(), "lintel-classifier-"));
    const { log, first } = logged();
    const checker = await opened({ ...settings, path: copy }, log);
    expect(await first).toContain("config.json");
    cpSync(folder, copy, { recursive: true });
    // The time of day counts for nothing: it may be set back.
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(9999);
    const error = await checker.isHarmful(red, never).catch((thrown: unknown) => thrown);
    expect(String((error as Error).cause)).toContain("config.json");
    vi.advanceTimersByTime(1);
    expect(await checker.isHarmful(red, never)).toBe(true);
  });

  test.skipIf(process.platform === "win32")(
    "closing it in the middle of its load does not crash the process",
    async () => {
      const copy = mkdtempSync(join(tmpdir(), "lintel-classifier-"));
      onTestFinished(() => rmSync(copy, { recursive: true }));
      cpSync(folder, copy, { recursive: true });
      rmSync(join(copy, "onnx"), { recursive: true });
      execFileSync("mkfifo", [join(copy, "model.onnx")]);
      const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
      const loader = path("../../scripts/typescript-loader.js");
      const args = ["--import", loader, path("leave.ts"), copy];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      expect(stdout).toBe("unavailable\nstill loading\nclosed\n");
    },
  );

  test("nothing is checked any more once it is closed", async () => {
    const said: string[] = [];
    const error = (_: object, message: string) => void said.push(message);
    const checker = await opened(settings, { ...silent, error });
    const late = checker.isHarmful(red, never);
    const closed = checker.close();
    await expect(late).rejects.toMatchObject({ code: "unavailable" });
    await expect(checker.isHarmful(red, never)).rejects.toMatchObject({ code: "shutting_down" });
    await closed;
    expect(said).toEqual([]);
  });

  test("who leaves does not wait", async () => {
    const checker = await opened(settings);
    const controller = new AbortController();
    const checked = checker.isHarmful(red, controller.signal);
    controller.abort(new Error("left"));
    await expect(checked).rejects.toThrow("left");
  });
});

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

describe("a moderation endpoint", () => {
  /** As OpenAI's reference of `POST /v1/moderations` has it, omni-moderation-latest, 2026. */
  const verdict = (flagged: unknown) => ({
    id: "modr-1",
    model: "omni-moderation-latest",
    results: [{ flagged, categories: { sexual: flagged }, category_scores: { sexual: 0.9 } }],
  });

  /** The address of a server that answers so. */
  async function listening(answer: RequestListener): Promise<string> {
    const http = createServer(answer).listen(0, "127.0.0.1");
    await once(http, "listening");
    onTestFinished(() => {
      http.close();
      http.closeAllConnections();
    });
    return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  }

  async function server(answer: (body: unknown) => { status?: number; body: unknown }) {
    const seen: { path: string | undefined; key: string | undefined; body: unknown }[] = [];
    const url = await listening(async (request, response) => {
      let text = "";
      for await (const part of request) text += part;
      const body = JSON.parse(text);
      seen.push({ path: request.url, key: request.headers.authorization, body });
      const { status = 200, body: said } = answer(body);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said));
    });
    const checker = await opened({
      type: "moderation",
      url,
      api_key: "sk-secret",
      model: "omni-moderation-latest",
      timeout: 5000,
    });
    return { checker, seen };
  }

  test("is asked about the image inline, and its word counts", async () => {
    const { checker, seen } = await server((body) => ({
      body: verdict(JSON.stringify(body).includes(red.toString("base64"))),
    }));
    expect(await checker.isHarmful(red, never)).toBe(true);
    expect(await checker.isHarmful(blue, never)).toBe(false);
    expect(seen[0]).toEqual({
      path: "/v1/moderations",
      key: "Bearer sk-secret",
      body: {
        model: "omni-moderation-latest",
        input: [
          {
            type: "image_url",
            image_url: { url: `data:image/png;base64,${red.toString("base64")}` },
          },
        ],
      },
    });
  });

  test("is told no key where there is none, and of several results each counts", async () => {
    const flags = [false, true];
    const keys: (string | undefined)[] = [];
    const url = await listening((request, response) => {
      keys.push(request.headers.authorization);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ results: flags.map((flagged) => ({ flagged })) }));
    });
    const checker = await opened({ type: "moderation", url, model: "m", timeout: 5000 });
    const { signal } = new AbortController();
    expect(await checker.isHarmful(red, signal)).toBe(true);
    expect(keys).toEqual([undefined]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("is waited for no more once the checker is closed", async () => {
    const asked = gate();
    const url = await listening(() => asked.open());
    const checker = await opened({ type: "moderation", url, model: "m", timeout: 60_000 });
    const checked = expect(checker.isHarmful(red, never)).rejects.toMatchObject({
      code: "shutting_down",
    });
    await asked.opened;
    await checker.close();
    await checked;
  });

  test("has its time for all of its answer, however it comes", async () => {
    const left = gate();
    const url = await listening((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      // Blanks before a value of JSON, one after the other, as long as somebody takes them.
      const drips = setInterval(() => response.write(" "), 5);
      response.on("close", () => {
        clearInterval(drips);
        left.open();
      });
    });
    const checker = await opened({ type: "moderation", url, model: "m", timeout: 200 });
    await expect(checker.isHarmful(red, never)).rejects.toMatchObject({
      code: "timeout",
      message: "the moderation server took too long",
    });
    await left.opened;
  });

  test.each([
    ["an error", { status: 500, body: { error: { message: "boom" } } }],
    ["no results", { body: { results: [] } }],
    ["no verdict", { body: verdict("maybe") }],
    ["half a verdict", { body: { results: [{ flagged: false }, { flagged: "maybe" }] } }],
    ["something else", { body: [1] }],
  ])("%s is no verdict", async (_, answer) => {
    const { checker } = await server(() => answer);
    const error = await checker.isHarmful(red, never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "upstream_failed" });
    expect(String(error)).not.toMatch(/127\.0\.0\.1|sk-secret/);
  });
});
