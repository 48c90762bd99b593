/** A checker that is an image classifier. */
import { execFile, execFileSync } from "node:child_process";
import { getEventListeners } from "node:events";
import { cpSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PNG } from "pngjs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { openChecker } from "../../src/safety/open.js";
import { never } from "../support/calls.js";
import { blue, change, logged, opened, picture, red } from "./checking.js";

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
