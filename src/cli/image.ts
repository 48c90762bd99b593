/** `lintel image`: makes pictures on any Lintel and writes them to files. */
import { constants, existsSync } from "node:fs";
import { access, rm, stat, writeFile } from "node:fs/promises";
import { dirname, extname } from "node:path";
import {
  type StreamTextToImageResponse,
  TextToImageService,
} from "../../gen/lintel/v1/image_pb.js";
import { integerOf, numberOf, seedOf, serverOptions, withServer } from "./client.js";
import { type Command, type Given, UsageError } from "./command.js";
import { deliverBytes, out, say } from "./output.js";
import { ProgressLine } from "./progress.js";

export const image: Command = {
  summary: "makes a picture and writes it to a file, on any Lintel",
  operand: "PROMPT",
  options: {
    ...serverOptions,
    out: {
      value: "FILE",
      short: "o",
      help: "where to, or - for stdout; several get -1, -2, … (default: lintel-SEED.png, no file that is there)",
    },
    size: { value: "WxH", help: "pixels, for example 512x512 (default: 1024x576)" },
    steps: { value: "N", help: "denoising steps (default: 50)" },
    guidance: { value: "N", help: "how closely to follow the prompt (default: 7.5)" },
    negative: { value: "TEXT", help: "what to leave out" },
    seed: { value: "N", help: "for the same picture again (default: random)" },
    count: { value: "N", short: "n", help: "pictures for each prompt (default: 1)" },
    lora: { value: "NAME=WEIGHT", multiple: true, help: "a LoRA and its weight; may be repeated" },
    preview: {
      help: "writes what it looks like so far to the file (default: lintel-preview.png, no file that is there; it is gone in the end)",
    },
    "no-safety-check": { help: "asks for no safety check" },
  },
  run: (given) =>
    withServer(given, TextToImageService, async (client, options) => {
      const request = requestOf(given);
      const stdout = given.text("out") === "-";
      const file = stdout ? undefined : given.text("out");
      const obstacle = stdout ? undefined : await obstacleTo(file);
      if (obstacle !== undefined) {
        say(unwritable(file ?? "this folder", obstacle));
        return 1;
      }
      const several = (request.numImagesPerPrompt ?? 1) > 1;
      if (stdout && process.stdout.isTTY) throw new UsageError("--out -: stdout is a terminal");
      if (stdout && several) throw severalToStdout();
      const seeded = request.seed !== undefined;
      const pictures = new Pictures(file, { stdout, several, seeded });
      try {
        for await (const { event } of client.streamTextToImage(request, options)) {
          await pictures.take(event);
        }
      } finally {
        await pictures.end();
      }
      return pictures.failed ? 1 : 0;
    }),
};

function requestOf(given: Given) {
  const size = given.text("size");
  const [, width, height] = /^(\d{1,6})x(\d{1,6})$/i.exec(size ?? "") ?? [];
  if (size !== undefined && width === undefined) {
    throw new UsageError("--size must be WIDTHxHEIGHT in pixels, for example 512x512");
  }
  return {
    prompt: given.operand,
    modelId: given.text("model") ?? "",
    width: width === undefined ? undefined : Number(width),
    height: height === undefined ? undefined : Number(height),
    numInferenceSteps: integerOf(given, "steps"),
    guidanceScale: numberOf(given, "guidance"),
    negativePrompt: given.text("negative") ?? "",
    seed: seedOf(given),
    numImagesPerPrompt: integerOf(given, "count"),
    loras: lorasOf(given),
    safetyCheck: given.has("no-safety-check") ? false : undefined,
    includeData: true,
    includePreviews: given.has("preview"),
  };
}

function lorasOf(given: Given): string {
  const loras = given.texts("lora").map((text) => {
    const [, name, weight] = /^(.+)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
    if (name === undefined) throw new UsageError("--lora must be NAME=WEIGHT, for example ink=0.8");
    return [name, Number(weight)] as const;
  });
  const twice = loras.find(([name], i) => loras.findIndex(([other]) => other === name) < i);
  if (twice) throw new UsageError(`--lora names ${twice[0]} twice`);
  return loras.length === 0 ? "" : JSON.stringify(Object.fromEntries(loras));
}

const severalToStdout = () =>
  new UsageError("--out -: there are several pictures, which need files");

const unwritable = (file: string, code: string) => `lintel: ${file} can't be written (${code})`;

/**
 * Why a file can't be written, as far as that shows before minutes were spent on a picture for it.
 * @param file absent: one of another name, in the current folder
 */
async function obstacleTo(file: string | undefined): Promise<string | undefined> {
  try {
    const there = file !== undefined && existsSync(file);
    await access(there ? file : dirname(file ?? "a.png"), constants.W_OK);
    return there && (await stat(file)).isDirectory() ? "EISDIR" : undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

/** What becomes of the events: a line of progress, and files. */
class Pictures {
  /** Whether a file could not be written. */
  failed = false;
  readonly #out: string | undefined;
  readonly #stdout: boolean;
  readonly #seeded: boolean;
  readonly #progress = new ProgressLine(process.stderr);
  #several: boolean;
  /** The file for previews where nobody named one; this run's own. */
  #preview: string | undefined;

  /**
   * @param stdout whether the one picture goes there
   * @param several whether more than one picture was asked for; that there are more is learned
   *   from events as well
   * @param seeded whether a seed was asked for
   */
  constructor(
    out: string | undefined,
    { stdout, several, seeded }: Readonly<Record<"stdout" | "several" | "seeded", boolean>>,
  ) {
    this.#out = out;
    this.#stdout = stdout;
    this.#several = several;
    this.#seeded = seeded;
  }

  async take(event: StreamTextToImageResponse["event"]): Promise<void> {
    if (event.case === "progress") {
      const { index, images, step, steps, percent, queuePosition, preview } = event.value;
      this.#several ||= images > 1;
      if (this.#stdout && this.#several) throw severalToStdout();
      const which = images > 1 ? `picture ${index + 1} of ${images}, ` : "";
      const waits = queuePosition !== undefined && step === 0;
      const words = waits ? `waiting, ${queuePosition} before` : `${which}step ${step} of ${steps}`;
      this.#progress.show(percent, words);
      if (preview.length > 0) {
        const named = this.#fileFor(index) ?? this.#preview;
        if (named !== undefined) await this.#write(named, preview);
        else this.#preview = await this.#writeNew("lintel-preview", preview);
      }
    } else if (event.case === "image" && event.value.media) {
      const { data, nsfw } = event.value.media;
      // A 0 that nobody asked for stands for none: chance draws it once in 2^32.
      const seed = event.value.media.seed || (this.#seeded ? 0 : undefined);
      const named = this.#fileFor(event.value.index);
      const flagged = nsfw ? ", flagged by the safety check" : "";
      const seeded = seed === undefined ? "" : `  seed ${seed}`;
      if (this.#stdout) {
        if (this.#several) throw severalToStdout();
        this.#progress.clear();
        await deliverBytes(data);
        return say(`stdout${seeded}${flagged}`);
      }
      const file = await (named === undefined
        ? this.#writeNew(seed === undefined ? "lintel" : `lintel-${seed}`, data)
        : this.#write(named, data));
      if (file !== undefined) out(`${file}${seeded}${flagged}`);
    } else if (event.case === "done") {
      this.#progress.clear();
      for (const warning of event.value.warnings) say(`warning: ${warning}`);
    }
  }

  async end(): Promise<void> {
    this.#progress.clear();
    if (this.#preview !== undefined) await rm(this.#preview, { force: true });
  }

  /** The file that `--out` means for a picture. */
  #fileFor(index: number): string | undefined {
    this.#several ||= index > 0;
    if (this.#out === undefined || !this.#several) return this.#out;
    const end = extname(this.#out);
    return `${this.#out.slice(0, this.#out.length - end.length)}-${index + 1}${end}`;
  }

  /**
   * Writes a picture that was given no name; seeds may come twice, also to two processes at the same
   * moment, and what is there stays.
   */
  async #writeNew(name: string, data: Uint8Array): Promise<string | undefined> {
    this.#progress.clear();
    for (let n = 1; ; n++) {
      const file = `${name}${n === 1 ? "" : `-${n}`}.png`;
      try {
        await writeFile(file, data, { flag: "wx" });
        return file;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") return this.#unwritten(file, error);
      }
    }
  }

  /** @returns the file; `undefined`, and said why, if it can't be written */
  async #write(file: string, data: Uint8Array): Promise<string | undefined> {
    this.#progress.clear();
    try {
      await writeFile(file, data);
      return file;
    } catch (error) {
      return this.#unwritten(file, error);
    }
  }

  #unwritten(file: string, error: unknown): undefined {
    say(unwritable(file, (error as NodeJS.ErrnoException).code ?? ""));
    this.failed = true;
  }
}
