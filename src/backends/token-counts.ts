/** What backends have in common that ask a server for the tokens of a prompt. */
import { LintelError } from "../core/errors.js";

/** Stands among what a server refused for a model: it is not asked for that again. */
export const counting = "count_tokens";

/** Whether a status says that there is no such path. */
export const lacksCounting = (status: number): boolean => [404, 405, 501].includes(status);

/** The number that a server tells; `undefined` where it is none. */
export const countOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32
    ? (value as number)
    : undefined;

/** The server counts none, or not this prompt: the core estimates them. */
export const countsNone = (): LintelError =>
  new LintelError("unimplemented", "the model server counts no tokens");
