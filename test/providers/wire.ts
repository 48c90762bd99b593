/** What vendors' APIs have in common here: where a request's fields stand, and what an answer says. */
import { isObject } from "../../src/core/json.js";
import type { Script } from "../backends/upstream.js";
import type { Name } from "./asked.js";

/** A part of a request's body: objects may have more members, lists more items between, and a text may be of a pattern. */
export type Form =
  | string
  | number
  | boolean
  | null
  | RegExp
  | readonly Form[]
  | { readonly [name: string]: Form };

/** What a vendor's requests have for what is asked. */
export type Forms = Readonly<Record<Name, Form>>;

/** Whether a body has such a part. */
export function has(body: unknown, form: Form): boolean {
  if (Array.isArray(form)) {
    if (!Array.isArray(body)) return false;
    let at = 0;
    return form.every((item) => {
      const found = body.findIndex((each, i) => i >= at && has(each, item));
      at = found + 1;
      return found >= 0;
    });
  }
  if (form instanceof RegExp) return typeof body === "string" && form.test(body);
  if (typeof form !== "object" || form === null) return body === form;
  return (
    isObject(body) &&
    Object.entries(form).every(([name, value]) => name in body && has(body[name], value))
  );
}

/** What a vendor answers; the rest is the same in all answers. */
export interface Said {
  readonly thoughts?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: object }[];
  /** As the contract has it, or the vendor's own word. */
  readonly ending: string;
}

/** A way that vendors speak. */
export interface Wire {
  readonly forms: Forms;
  /** Answers, whole or streamed as the request asks. */
  answers(said: Said): Script;
  /** Streams the begin of an answer, and an error then; absent: the vendor has none. */
  breaks?(said: string): Script;
  /** What its answers have no place for: `model`, `cached` and `reasoning` tokens, `thoughts`, `calls`, `content_filter`. */
  readonly untold?: readonly string[];
  /** What the vendor's other reasons for an end mean: the contract's, or an error's code. */
  readonly endings?: Readonly<Record<string, string>>;
  /** The body of an error. */
  error(message: string, status: number): object;
}

/** What all answers count. */
export const counted = { prompt: 40, cached: 12, completion: 25, reasoning: 9 };

/** The answer's id, and the model that gave it, which is another than the one that was asked. */
export const answerId = "answer-1";
export const answeredBy = "model-said";

/** A text in pieces. */
export const inPieces = (text: string): readonly string[] => text.match(/.{1,7}/gsu) ?? [];
