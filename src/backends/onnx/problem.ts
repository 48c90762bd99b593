/** What goes wrong with a model, in words for people. */
import { reasonOf } from "../../core/log.js";
import { NotAFile } from "../../regular-file.js";
import type { Failure } from "./protocol.js";

/**
 * Something about a model that its owner can mend: a file that is missing or
 * broken, a layout that can't be run, too little memory. The message names
 * files relative to the model's folder.
 */
export class ModelProblem extends Error {
  override readonly name = "ModelProblem";
}

/** ONNX Runtime does not load or run a part of a model; not for want of memory. */
export class RuntimeProblem extends ModelProblem {}

/** A part of a model gives numbers of which no picture can be made. */
export class NotFinite extends ModelProblem {
  /** @param file the part's */
  constructor(file: string) {
    super(`${file}: gives values that are not finite`);
  }
}

/** Something about a job that its caller can mend: a value that this model can't take. */
export class JobProblem extends Error {
  override readonly name = "JobProblem";
  /** Name of the request's field. */
  readonly param: string;

  /** @param message what is allowed, without the field's name */
  constructor(param: string, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.param = param;
  }
}

/** What a job wants can be had, but not now. */
export class PassingProblem extends Error {
  override readonly name = "PassingProblem";
}

/** Why a file can't be read, without its full path. */
export function whyUnreadable(error: unknown): string {
  if (error instanceof SyntaxError) return "is not valid JSON";
  if (error instanceof NotAFile) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return "is missing";
  return `can't be read (${code ?? "unknown reason"})`;
}

/** Whatever was thrown, for the other thread: with a stack where nobody foresaw it, else the words tell why. */
export function failureOf(thrown: unknown, otherwise: string): Failure {
  const passing = thrown instanceof PassingProblem;
  if (passing || thrown instanceof ModelProblem || thrown instanceof JobProblem) {
    const { message, cause } = thrown;
    return {
      message,
      ...(thrown instanceof JobProblem && { param: thrown.param }),
      ...(passing && { passing }),
      ...(cause !== undefined && { cause: reasonOf(cause) }),
    };
  }
  const cause = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  const inner = thrown instanceof Error && thrown.cause !== undefined ? `\n${thrown.cause}` : "";
  return { message: otherwise, cause: cause + inner };
}

/** A function of ONNX Runtime, with its types. */
const aFunction = /(?:[\w*]+|\S+<[^>]*>) onnxruntime::[\w:]+\([^)]*\)(?: \[with [^\]]*\])? /g;

/**
 * One line of what ONNX Runtime said, without the paths of this machine and of
 * the one where it was compiled.
 */
export function wordsOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return text
    .replace(/^.* was false\. /s, "") // A condition of its source.
    .replace(aFunction, "")
    .replace(/ ; GPU=-?\d+ ; hostname=.*/s, "") // Where it asked CUDA.
    .replace(/(?:[A-Za-z]:)?[\\/][^\s:,'"]*[\\/][^\s:,'"]*(?::\d+)?/g, "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 300);
}
