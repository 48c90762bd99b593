/** Asks again without what a server refuses, of every backend that can go without. */
import type { Call } from "../../../core/call.js";
import { chatDefaults } from "../../../core/defaults.js";
import { logprobs as logprobsField } from "../../../core/parameters.js";
import { notSupported, type Warnings } from "../../../core/warnings.js";
import type { Refused } from "../../http/refused.js";
import { tools } from "../fields.js";
import { imageConfig } from "../images.js";
import { effort, signedThoughts } from "../thoughts.js";
import { beyondContext } from "./beyond-context.js";
import { aboutValue, refusedField, wordsOf } from "./refusal.js";
import { choseSampling, type SamplingField } from "./sampling.js";
import { endUser } from "./words.js";

/** Fields that a server may refuse and that a request can go without. */
export const optionalFields = [
  "stream_options",
  "temperature",
  "top_p",
  "top_k",
  "max_tokens",
  "seed",
  "parallel_tool_calls",
  imageConfig,
  "top_logprobs",
] as const;

/** Fields that are sent with the contract's default, or the operator's, where a caller chose no value. */
const defaulted: ReadonlySet<string> = new Set(["temperature", "top_p", "size", effort]);

/** Stands among what was refused for the value that a field has where nobody chose one. */
const defaultOf = (field: string) => `default ${field}`;

/** Name of such a field. */
export type Optional = (typeof optionalFields)[number] | SamplingField | typeof effort;

/** What became of a request. */
export type Attempt<T> = { readonly answer: T } | Refused;

/** How to ask, and what is known of the one who is asked. */
export interface Question<T, F extends string> {
  /**
   * Fields that the request can go without. Asked once something was refused: to know takes a look at every message.
   * @param refused what it went without: of what has the same words another may be meant then
   */
  fields(refused: ReadonlySet<string>): readonly F[];
  /**
   * Of a refusal what it names that is no field, as it is to be remembered; absent: nothing is.
   * @param refused what the request went without
   */
  named?(words: string, refused: ReadonlySet<string>): readonly F[];
  /** What was refused before. */
  known(): ReadonlySet<string>;
  /** Sends the request without some fields. */
  ask(refused: ReadonlySet<string>): Promise<Attempt<T>>;
  /** Whether the caller chose the field's value. */
  chosen(field: F): boolean;
  /** A field was refused whatever its value, or `default` and a field, and it worked without. */
  learn(refused: string): void;
  /** The call's. */
  readonly warnings: Warnings;
}

/**
 * Sends a request; where an optional field is refused, sends it again without, and
 * remembers once that has worked. One caller's value does not count for the others.
 * @param first what came of asking, where that was known too late; absent: nothing was asked
 * @throws LintelError as the last attempt failed
 */
export async function askWithout<T, F extends string>(
  question: Question<T, F>,
  first?: Refused,
): Promise<T> {
  const known = question.known();
  if (first || known.size > 0) return askAgain(question, first);
  // As a rule nothing is ever refused: nothing is made for it ahead of that.
  const attempt = await question.ask(known);
  return "answer" in attempt ? attempt.answer : askAgain(question, attempt);
}

/** @param first what came of asking with all fields that were not refused before; absent: that was not tried */
async function askAgain<T, F extends string>(
  question: Question<T, F>,
  first?: Refused,
): Promise<T> {
  const { chosen, warnings } = question;
  const ours = () =>
    question.fields(nothing).filter((field) => defaulted.has(field) && !chosen(field));
  /** Whether another value may do. */
  const dropped = new Map<F, boolean>();
  const without = (known: ReadonlySet<string>) => {
    const usual = ours().filter((field) => known.has(defaultOf(field)));
    return new Set([...known, ...usual, ...dropped.keys()]);
  };
  let naming = 0;
  let refused = without(question.known());
  let attempt: Attempt<T> = first ?? (await question.ask(refused));
  while (!("answer" in attempt)) {
    const { status, body } = attempt;
    const named = isOfRequest(status) ? question.named?.(wordsOf(body), refused) : undefined;
    if (named && named.length > 0) {
      // Each that is named one by one takes a request.
      if (++naming > mostNaming) throw attempt.failure();
      for (const one of named) dropped.set(one, false);
    } else {
      // Thinking may be named beside what is wrong.
      const unasked = ours().filter((one) => one !== effort);
      const field = refusedField(status, body, question.fields(refused), unasked);
      if (!field || refused.has(field)) throw attempt.failure();
      dropped.set(field, aboutValue(body, field));
    }
    refused = without(question.known());
    attempt = await question.ask(refused);
  }
  for (const [field, value] of dropped) {
    if (value && ours().includes(field)) question.learn(defaultOf(field));
    else if (!value || !(chosen(field) || ofOneCaller.has(field))) question.learn(field);
    // Later calls are warned by the core.
    if (chosen(field)) warnings.add(notSupported(field));
  }
  return attempt.answer;
}

/** Requests after each of which more was named that a server refuses. */
const mostNaming = 16;

const isOfRequest = (status: number): boolean => status === 400 || status === 422;

/** Of these another caller's may do, where it is not the field that is refused. */
const ofOneCaller: ReadonlySet<string> = new Set([endUser, beyondContext]);

const nothing: ReadonlySet<string> = new Set();

/** Of these nobody else chooses a value. */
const chosenAlways: ReadonlySet<string> = new Set([tools, signedThoughts, logprobsField]);

/** Whether the caller of a completion chose the value of a field; none of what is no field. */
export function chosenForChat(
  { request, modelSettings }: Call<"chat"> | Call<"complete">,
  field: string,
): boolean {
  const own = modelSettings?.defaults ?? {};
  const { temperature = chatDefaults.temperature } = own;
  const { top_p = chatDefaults.topP, top_k = chatDefaults.topK } = own;
  const values: Readonly<Record<Optional, boolean>> = {
    stream_options: false,
    // It goes by its other name.
    max_tokens: false,
    temperature: (request.temperature ?? temperature) !== temperature,
    top_p: (request.topP ?? top_p) !== top_p,
    top_k: (request.topK ?? top_k) !== top_k,
    seed: (request.seed ?? -1n) >= 0n,
    parallel_tool_calls: request.parallelToolCalls !== undefined,
    image_config: request.imageConfig !== undefined,
    frequency_penalty: choseSampling("frequency_penalty", request, modelSettings),
    presence_penalty: choseSampling("presence_penalty", request, modelSettings),
    repetition_penalty: choseSampling("repetition_penalty", request, modelSettings),
    min_p: choseSampling("min_p", request, modelSettings),
    verbosity: choseSampling("verbosity", request),
    service_tier: choseSampling("service_tier", request),
    logit_bias: choseSampling("logit_bias", request),
    top_logprobs: (request.topLogprobs ?? 0) > 0,
    reasoning_effort: request.reasoningEffort !== (modelSettings?.reasoningEffort ?? ""),
  };
  return values[field as Optional] ?? chosenAlways.has(field);
}
