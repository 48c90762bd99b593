/** What backends have in common that ask a server for the tokens of a prompt. */
import { LintelError } from "../core/errors.js";
import { messageIn } from "./http/error-body.js";

/** Stands among what a server refused for a model: it is not asked for that again. */
export const counting = "count_tokens";

/**
 * Whether an answer says that there is no such path: not where the model is missing, which may be back.
 * @param body parsed
 */
export const lacksCounting = (status: number, body: unknown): boolean =>
  status === 404 ? !/\bmodel\b/i.test(messageIn(body)) : status === 405 || status === 501;

/** The number that a server tells; `undefined` where it is none. */
export const countOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32
    ? (value as number)
    : undefined;

/** The server counts none, or not this prompt: the core estimates them. */
export const countsNone = (): LintelError =>
  new LintelError("unimplemented", "the model server counts no tokens");
