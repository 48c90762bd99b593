/** `lintel image`: where its pictures go, and what is told meanwhile. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import {
  doneEvent,
  imageEvent,
  inlineImage,
  noSeed,
  progressEvent,
} from "../../src/core/image-events.js";
import { startLintel } from "../support/lintel.js";
import { imageModel } from "../support/models.js";
import { paints, png, scripted } from "../support/scripted.js";
import { startAnswering } from "./answering.js";
import { runHere } from "./here.js";

const { lintel, seen, at } = await startAnswering();
afterAll(() => lintel.close());

const folder = () => mkdtempSync(join(tmpdir(), "lintel-client-"));

describe("lintel image", () => {
  test("previews that nobody named go to a file of their own, which is gone in the end", async () => {
    const before = process.cwd();
    process.chdir(folder());
    onTestFinished(() => process.chdir(before));
    writeFileSync("lintel-preview.png", "mine");
    const during: string[][] = [];
    const server = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2, preview: png(5) })];
          await expect.poll(() => readdirSync(".")).toContain("lintel-preview-2.png");
          during.push(readdirSync("."));
          yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2, preview: png(5) })];
          yield [imageEvent(0, inlineImage(png(1), 1)), doneEvent([])];
        },
      }),
    ]);
    onTestFinished(() => server.close());
    await runHere(["image", "a", "--server", server.url, "--preview"]);
    expect(during).toEqual([["lintel-preview-2.png", "lintel-preview.png"]]);
    expect(readdirSync(".").sort()).toEqual(["lintel-1.png", "lintel-preview.png"]);
    expect(readFileSync("lintel-preview.png", "utf8")).toBe("mine");
  });

  test("writes what the server made, with every option sent", async () => {
    const out = join(folder(), "cat.png");
    const ended = await runHere([
      ...["image", "a cat", ...at, "--out", out, "--seed", "7", "--size", "512x256"],
      ...["--steps", "3", "--guidance", "2.5", "--negative", "dog", "--lora", "style=0.5"],
      ...["--lora", "ink=1", "--model", "image-1"],
    ]);
    expect(ended).toMatchObject({ code: 0, stdout: `${out}  seed 7\n` });
    expect(readFileSync(out)).toEqual(png(7, 512, 256));
    expect(seen.at(-1)).toMatchObject({
      prompt: "a cat",
      negativePrompt: "dog",
      width: 512,
      height: 256,
      numInferenceSteps: 3,
      guidanceScale: 2.5,
      ...{ seed: 7n, loras: '{"style":0.5,"ink":1}', modelId: "image-1", numImagesPerPrompt: 1 },
      ...{ safetyCheck: undefined, includePreviews: false },
    });
  });

  test("writes a picture to stdout, alone and nothing else", async () => {
    const parts: Uint8Array[] = [];
    const spied = vi.spyOn(process.stdout, "write");
    onTestFinished(() => spied.mockRestore());
    const running = runHere([
      "image",
      "a cat",
      ...at,
      "--no-safety-check",
      "--seed",
      "7",
      "-o",
      "-",
    ]);
    vi.mocked(process.stdout.write).mockImplementation((part, ...more) => {
      parts.push(part as Uint8Array);
      (more.at(-1) as () => void)();
      return true;
    });
    expect(await running).toEqual({ code: 0, stdout: "", stderr: "stdout  seed 7\n" });
    expect(Buffer.concat(parts)).toEqual(png(7));
    expect(seen.at(-1)).toMatchObject({ safetyCheck: false });
  });

  test.each([[["a|b"]], [["a", "--count", "2"]]])(
    "several pictures are refused for stdout, and not made: %j",
    async (args) => {
      const before = process.cwd();
      const directory = folder();
      process.chdir(directory);
      onTestFinished(() => process.chdir(before));
      const { code, stdout, stderr } = await runHere(["image", ...args, ...at, "--out", "-"]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("--out -: there are several pictures, which need files");
      expect(readdirSync(directory)).toEqual([]);
    },
  );

  test("several pictures are numbered, also those of several prompts", async () => {
    const directory = folder();
    const out = join(directory, "a.png");
    await runHere(["image", "a|b", ...at, "--out", out, "--seed", "1", "--count", "2"]);
    expect(readdirSync(directory).sort()).toEqual(["a-1.png", "a-2.png", "a-3.png", "a-4.png"]);
    expect(readFileSync(join(directory, "a-4.png"))).toEqual(png(4));
  });

  test("several are numbered also where nothing is told but the pictures", async () => {
    const silent = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [imageEvent(0, inlineImage(png(1), 1)), imageEvent(1, inlineImage(png(2), 2))];
          yield [doneEvent([])];
        },
      }),
    ]);
    const directory = folder();
    const out = join(directory, "a.png");
    const to = ["--server", silent.url, "--out", out];
    await runHere(["image", "a", ...to, "--count", "2"]);
    expect(readdirSync(directory).sort()).toEqual(["a-1.png", "a-2.png"]);
    await silent.close();
  });

  test("previews go to the file that was named, until the picture does", async () => {
    const out = join(folder(), "a.png");
    const server = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2, preview: png(5) })];
          await expect.poll(() => existsSync(out) && readFileSync(out)).toEqual(png(5));
          yield [imageEvent(0, inlineImage(png(1), 1)), doneEvent([])];
        },
      }),
    ]);
    onTestFinished(() => server.close());
    const ended = await runHere(["image", "a", "--server", server.url, "--preview", "-o", out]);
    expect(ended).toMatchObject({ code: 0, stdout: `${out}  seed 1\n` });
    expect(readFileSync(out)).toEqual(png(1));
  });

  test("a file of an earlier picture stays where no name is given", async () => {
    const before = process.cwd();
    process.chdir(folder());
    onTestFinished(() => process.chdir(before));
    writeFileSync("lintel-7.png", "an earlier one");
    const run = () => runHere(["image", "a cat", ...at, "--seed", "7"]);
    expect((await run()).stdout).toBe("lintel-7-2.png  seed 7\n");
    expect((await run()).stdout).toBe("lintel-7-3.png  seed 7\n");
    expect(readFileSync("lintel-7.png", "utf8")).toBe("an earlier one");
    expect(readFileSync("lintel-7-3.png")).toEqual(png(7));
  });

  test("a link that leads nowhere is passed over as a file is, and stays", async () => {
    const before = process.cwd();
    process.chdir(folder());
    onTestFinished(() => process.chdir(before));
    symlinkSync("gone.png", "lintel-7.png");
    const ended = await runHere(["image", "a cat", ...at, "--seed", "7"]);
    expect(ended).toMatchObject({ code: 0, stdout: "lintel-7-2.png  seed 7\n" });
    expect(readFileSync("lintel-7-2.png")).toEqual(png(7));
    expect(readlinkSync("lintel-7.png")).toBe("gone.png");
  });

  test("a model without seeds has none in names and lines", async () => {
    const seedless = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [imageEvent(0, inlineImage(png(1), noSeed)), doneEvent([])];
        },
      }),
    ]);
    onTestFinished(() => seedless.close());
    const before = process.cwd();
    process.chdir(folder());
    onTestFinished(() => process.chdir(before));
    const run = () => runHere(["image", "a cat", "--server", seedless.url, "--no-safety-check"]);
    const stderr = "warning: seed: this model takes none, 0 stands for that\n";
    expect(await run()).toEqual({ code: 0, stdout: "lintel.png\n", stderr });
    expect((await run()).stdout).toBe("lintel-2.png\n");
    const asked = await runHere(["image", "a cat", ...at, "--seed", "0"]);
    expect(asked.stdout).toBe("lintel-0.png  seed 0\n");
  });

  test("a picture that can't be written is told, the others are written, and 1 ends it", async () => {
    const directory = folder();
    mkdirSync(join(directory, "a-1.png"));
    const out = join(directory, "a.png");
    const ended = await runHere(["image", "a", ...at, "--out", out, "--seed", "1", "-n", "2"]);
    expect(ended).toMatchObject({
      code: 1,
      stdout: `${join(directory, "a-2.png")}  seed 2\n`,
      stderr: expect.stringContaining(`lintel: ${join(directory, "a-1.png")} can't be written (`),
    });
    expect(readFileSync(join(directory, "a-2.png"))).toEqual(png(2));
  });

  test("one that the safety check flagged is told, in a file or on stdout", async () => {
    const models = [imageModel("i", { supports: ["seed", "safety_check"] })];
    const handle = paints(1, { nsfw: true });
    const server = await startLintel([scripted({ streamTextToImage: handle }, models)]);
    onTestFinished(() => server.close());
    const ask = ["image", "a", "--server", server.url, "--seed", "7", "--out"];
    const file = join(folder(), "a.png");
    const flagged = "  seed 7, flagged by the safety check\n";
    expect(await runHere([...ask, file])).toEqual({
      code: 0,
      stdout: `${file}${flagged}`,
      stderr: "",
    });
    expect(await runHere([...ask, "-"])).toMatchObject({ code: 0, stderr: `stdout${flagged}` });
  });

  /** A terminal in place of a stream of this process. */
  function terminal(stream: NodeJS.WriteStream): void {
    const { isTTY } = stream;
    vi.stubEnv("TERM", "xterm");
    Object.assign(stream, { isTTY: true });
    onTestFinished(() => {
      Object.assign(stream, { isTTY });
      vi.unstubAllEnvs();
    });
  }

  test("none is written to a terminal, nor asked for", async () => {
    terminal(process.stdout);
    const asked = seen.length;
    const ended = await runHere(["image", "a", ...at, "--out", "-"]);
    expect(ended).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--out -: stdout is a terminal"),
    });
    expect(seen).toHaveLength(asked);
  });

  test("a terminal is told how far it is, and how many are before it", async () => {
    const server = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [progressEvent({ index: 0, images: 2, step: 0, steps: 4, queuePosition: 3 })];
          yield [progressEvent({ index: 1, images: 2, step: 2, steps: 4 })];
          yield [imageEvent(0, inlineImage(png(1), 1)), imageEvent(1, inlineImage(png(2), 2))];
          yield [doneEvent([])];
        },
      }),
    ]);
    onTestFinished(() => server.close());
    terminal(process.stderr);
    const to = ["--server", server.url, "--out", join(folder(), "a.png"), "--no-safety-check"];
    const { code, stderr } = await runHere(["image", "a", ...to, "-n", "2"]);
    const lines = stripVTControlCharacters(stderr).split("\r").filter(Boolean);
    expect([code, lines]).toEqual([
      0,
      [
        `[${"-".repeat(30)}]   0%  waiting, 3 before`,
        `[${"#".repeat(23)}${"-".repeat(7)}]  75%  picture 2 of 2, step 2 of 4`,
      ],
    ]);
  });

  test("what failed has a line of its own, where the progress was", async () => {
    const server = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [progressEvent({ index: 0, images: 1, step: 1, steps: 4 })];
          throw new LintelError("upstream_failed", "the model server broke off");
        },
      }),
    ]);
    onTestFinished(() => server.close());
    terminal(process.stderr);
    const { code, stderr } = await runHere(["image", "a", "--server", server.url]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/ step 1 of 4\r/);
    expect(stderr.endsWith("\r\x1b[Klintel: the model server broke off\n")).toBe(true);
  });

  test("a file that can't be written is said before a picture is asked for, and ends with 1", async () => {
    const directory = folder();
    const missing = join(directory, "no", "such.png");
    const asked = seen.length;
    for (const [out, code] of [
      [missing, "ENOENT"],
      [directory, "EISDIR"],
    ]) {
      const ended = await runHere(["image", "a cat", ...at, "--out", out ?? ""]);
      const stderr = `lintel: ${out} can't be written (${code})\n`;
      expect(ended).toEqual({ code: 1, stdout: "", stderr });
    }
    expect(seen).toHaveLength(asked);
  });

  // A folder in which not even root makes files.
  test.runIf(existsSync("/proc/self"))("so is a folder that takes no file", async () => {
    const before = process.cwd();
    process.chdir("/proc/self");
    onTestFinished(() => process.chdir(before));
    const asked = seen.length;
    const stderr = expect.stringMatching(/^lintel: this folder can't be written \(E[A-Z]+\)\n$/);
    expect(await runHere(["image", "a cat", ...at])).toEqual({ code: 1, stdout: "", stderr });
    expect(seen).toHaveLength(asked);
  });

  test.each([
    [["--size", "big"], "--size must be WIDTHxHEIGHT"],
    [["--seed", "x"], "--seed must be a whole number"],
    [["--lora", "style"], "--lora must be NAME=WEIGHT"],
    [["--lora", "ink=1", "--lora", "style=1", "--lora", "ink=0.5"], "--lora names ink twice"],
  ])("%j is used wrongly", async (args, words) => {
    const ended = await runHere(["image", "a cat", ...at, ...args]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(words);
  });
});
