/** Asks again without what a server refuses, of every backend that can go without. */
import type { Call } from "../../core/call.js";
import { chatDefaults } from "../../core/defaults.js";
import type { LintelError } from "../../core/errors.js";
import { warn } from "../../core/fit.js";
import { refusedField } from "./refusal.js";
import type { Optional } from "./request.js";

/** What became of a request. */
export type Attempt<T> =
  | { readonly answer: T }
  | {
      readonly status: number;
      readonly body: string;
      /** The error for it; called once, where nothing else helps. */
      failure(): LintelError;
    };

/** How to ask, and what is known of the one who is asked. */
export interface Question<T, F extends string> {
  /** Fields that the request can go without. */
  readonly fields: readonly F[];
  /** What was refused before. */
  known(): ReadonlySet<string>;
  /** Sends the request without some fields. */
  ask(refused: ReadonlySet<string>): Promise<Attempt<T>>;
  /** A field was refused, and it worked without. */
  learn(field: F): void;
}

/**
 * Sends a request; where an optional field is refused, sends it again without, and
 * remembers once that has worked.
 * @throws LintelError as the last attempt failed
 */
export async function askWithout<T, F extends string>(question: Question<T, F>): Promise<T> {
  const learned: F[] = [];
  for (;;) {
    const known = question.known();
    const refused = learned.length === 0 ? known : new Set([...known, ...learned]);
    const attempt = await question.ask(refused);
    if ("answer" in attempt) {
      for (const field of learned) question.learn(field);
      return attempt.answer;
    }
    const field = refusedField(attempt.status, attempt.body, question.fields);
    if (!field || refused.has(field)) throw attempt.failure();
    learned.push(field);
  }
}

/** Warns of a value that a caller set and that did not count; later calls are warned by the core. */
export function warnDropped(
  { request, warnings }: Call<"chat"> | Call<"complete">,
  field: Optional,
): void {
  const { temperature, topP, topK } = chatDefaults;
  const values: Readonly<Record<Optional, boolean>> = {
    stream_options: false,
    // It goes by its other name.
    max_tokens: false,
    temperature: (request.temperature ?? temperature) !== temperature,
    top_p: (request.topP ?? topP) !== topP,
    top_k: (request.topK ?? topK) !== topK,
    seed: (request.seed ?? -1n) >= 0n,
  };
  if (values[field]) warn(warnings, `${field}: not supported by this model, ignored`);
}
