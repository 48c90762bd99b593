/** Fields of how tokens are chosen, of how much is said, and how soon, of which each server knows some. */
import type { LLMRequest } from "../../../../gen/lintel/v1/chat_pb.js";
import { chatDefaults, isBiased } from "../../../core/defaults.js";
import type { ModelSettings } from "../../../core/settings.js";

/** Their names. */
export const samplingFields = [
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "min_p",
  "verbosity",
  "service_tier",
  "logit_bias",
] as const;

/** Name of one. */
export type SamplingField = (typeof samplingFields)[number];

/** What a request says, or the operator for it, where that is not what a server does by itself. */
const said: Readonly<Record<SamplingField, (request: LLMRequest) => unknown>> = {
  frequency_penalty: ({ frequencyPenalty }) => frequencyPenalty || undefined,
  presence_penalty: ({ presencePenalty }) => presencePenalty || undefined,
  repetition_penalty: ({ repetitionPenalty }) => saidPenalty(repetitionPenalty),
  min_p: ({ minP }) => minP || undefined,
  verbosity: ({ verbosity }) => verbosity || undefined,
  service_tier: ({ serviceTier }) => serviceTier || undefined,
  logit_bias: ({ logitBias }) => (isBiased(logitBias) ? logitBias : undefined),
};

/** A `repetition_penalty` that penalizes; the contract's default does not. */
export const saidPenalty = (penalty: number | undefined): number | undefined =>
  penalty === chatDefaults.repetitionPenalty ? undefined : penalty;

/** Which of these a server may refuse of a request. @param refused what it has refused before */
export const samplingToRefuse = (
  request: LLMRequest,
  refused: ReadonlySet<string>,
): SamplingField[] =>
  samplingFields.filter((name) => !refused.has(name) && said[name](request) !== undefined);

/** Whether the caller chose the value of one; OpenAI's clients send its default verbosity unasked, and any server has the tier `default`. */
export function choseSampling(
  name: SamplingField,
  request: LLMRequest,
  { defaults = {} }: Partial<ModelSettings> = {},
): boolean {
  const value = said[name](request);
  return (
    value !== undefined && value !== defaults[name] && value !== "medium" && value !== "default"
  );
}
