/** What goes wrong with a model, in words for people. */
import type { Failure } from "./protocol.js";

/**
 * Something about a model that its owner can mend: a file that is missing or
 * broken, a layout that can't be run, too little memory. The message names
 * files relative to the model's folder.
 */
export class ModelProblem extends Error {
  override readonly name = "ModelProblem";
}

/** Whatever was thrown, for the other thread. */
export function failureOf(thrown: unknown, otherwise: string): Failure {
  const cause = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  const inner = thrown instanceof Error && thrown.cause !== undefined ? `\n${thrown.cause}` : "";
  return {
    message: thrown instanceof ModelProblem ? thrown.message : otherwise,
    cause: cause + inner,
  };
}

/**
 * One line of what ONNX Runtime said, without the paths of this machine and of
 * the one where it was compiled.
 */
export function wordsOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return text
    .replace(/(?:[A-Za-z]:)?[\\/][^\s:,'"]*[\\/][^\s:,'"]*(?::\d+)?/g, "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 300);
}
