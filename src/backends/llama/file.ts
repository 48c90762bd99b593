/** What is wrong with a model file, in words. */
import { open } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import type { Llama } from "node-llama-cpp";
import { assertRegular } from "../../regular-file.js";
import { inGb } from "../memory.js";
import { checkHeader } from "./header.js";

/**
 * Looks whether the file is what its name says.
 * @throws Error that says what is wrong, without the file's name
 */
export async function checkFile(path: string): Promise<void> {
  assertRegular(path);
  const file = await open(path).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(cause.code === "ENOENT" ? "no such file" : "the file can't be read", { cause });
  });
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0).catch((cause) => {
      throw new Error("the file can't be read", { cause });
    });
    if (bytesRead < 4 || buffer.toString("latin1") !== "GGUF") throw new Error("not a GGUF file");
    await checkHeader(file);
  } finally {
    await file.close();
  }
}

/** `llama_model_load: error loading model: …`: of what llama.cpp logs, the line that says why. */
const reason = /error loading model: (?!.*failed to load model from)(.*)/;

/** The last line that llama.cpp logs of a load that failed. */
const lastLine = /^llama_model_load_from_file/;

/** What is made besides of a model, and why it is not. */
const parts = [
  {
    failure: "Failed to create context",
    what: "its context can't be made",
    reason: /^llama_init_from_model: (?!failed to initialize)(.*)/,
  },
  {
    failure: "Failed to initialize LoRA",
    what: "loras",
    reason: /failed to apply lora adapter: (?:\w+: )?(.*)/,
  },
] as const;

/** Waits for a line: the log comes from another thread, and may come after the failure. */
async function logged(said: readonly string[], wanted: RegExp): Promise<void> {
  for (let turn = 0; turn < 100 && !said.some((line) => wanted.test(line)); turn++) {
    await setTimeout(5);
  }
}

/**
 * Why llama.cpp could not load a file.
 * @param said the errors that it logged, in order; may still grow
 * @param thrown what came of it
 * @param llama knows the memory of a GPU
 */
export async function whyNotLoaded(
  said: readonly string[],
  thrown: unknown,
  llama: Llama,
): Promise<string> {
  if (!(thrown instanceof Error)) return "can't be loaded";
  if (thrown.message.includes("VRAM")) {
    const { free, total } = await llama.getVramState();
    return `${thrown.message}: ${inGb(free)} of ${inGb(total)} GB are free`;
  }
  const part = parts.find(({ failure }) => thrown.message.startsWith(failure));
  if (part) {
    await logged(said, part.reason);
    const why = said.map((line) => part.reason.exec(line)?.[1]).find((it) => it !== undefined);
    return `${part.what}: ${why ?? thrown.message}`;
  }
  if (thrown.message !== "Failed to load model") return thrown.message;
  await logged(said, lastLine);
  for (const line of said) {
    const why = reason.exec(line)?.[1];
    if (why) return why;
  }
  // Errors in the header come without that: `gguf_init_from_reader: failed to read …`.
  const first = said.find((line) => line.startsWith("gguf_"))?.replace(/^\w+: */, "");
  return first ? `the file is damaged or incomplete: ${first}` : "can't be loaded";
}
