/** What a provider left out, in words for the caller. */
import type { SharedV3Warning } from "@ai-sdk/provider";
import { logprobs as logprobsField } from "../../core/parameters.js";
import { withoutAddresses } from "../../core/withheld.js";
import { effort, summaries } from "../completions/thoughts.js";

/** Our fields by the names of the common interface's. */
const fields: Readonly<Record<string, readonly string[]>> = {
  temperature: ["temperature"],
  topP: ["top_p"],
  topK: ["top_k"],
  maxOutputTokens: ["max_tokens"],
  seed: ["seed"],
  frequencyPenalty: ["frequency_penalty"],
  presencePenalty: ["presence_penalty"],
  stopSequences: ["stop"],
  tools: ["tools"],
  toolChoice: ["tool_choice"],
  responseFormat: ["response_format"],
  reasoningSummary: [summaries],
  size: ["width", "height"],
  n: ["num_images_per_prompt"],
  logprobs: [logprobsField],
  topLogprobs: ["top_logprobs"],
  serviceTier: ["service_tier"],
};

/** Of these OpenAI's provider tells in words alone. */
const inWords = /^(logprobs|topLogprobs) is not supported\b/;

/** A provider's warning. */
export interface Dropped {
  /** The request fields that it is about; none for whatever else it says. */
  readonly fields: readonly string[];
  /** Whether the fields were left out altogether. */
  readonly ignored: boolean;
  /** Whether that is of a model that thinks, only as long as it does. */
  readonly thinking: boolean;
  /** Whether another value of a field that was left out may do. */
  readonly another: boolean;
  /** In words. */
  readonly text: string;
}

/** Reads a warning; interfaces after v3 may add kinds of them. */
export function readWarning(warning: SharedV3Warning): Dropped {
  const said = "message" in warning ? warning.message : (warning.details ?? "");
  const [, worded = ""] = inWords.exec(said) ?? [];
  const feature = "feature" in warning ? warning.feature : worded;
  const about = feature === "" ? [] : fieldsOf(feature);
  const named = about.join(", ") || feature;
  const ignored = (warning.type === "unsupported" || worded !== "") && !isBent(said, about);
  const thinking = /\bwhen thinking is enabled\b/i.test(said);
  const lost = thinking ? "not supported while this model thinks, ignored" : unsupported;
  const words = ignored && about.length > 0 ? lost : said;
  const text = [named, words || "not supported by this model"].filter((part) => part !== "");
  return {
    fields: about,
    ignored,
    thinking,
    another: anotherMayDo.test(said),
    text: withoutAddresses(text.join(": ")),
  };
}

const unsupported = "not supported by this model, ignored";

/** Where a value is only bent, the details say how: "clamped to 1". Of a choice they say what is used instead of it. */
const isBent = (said: string, about: readonly string[]): boolean =>
  /\b(?:clamp|limit|cap|reduc|adjust|exceed|convert|round|deriv)/i.test(said) ||
  (about.includes(effort) && /\b(?:using|lowered)\b/i.test(said));

const anotherMayDo =
  /\b(?:only supports|cannot be|always)\b|["'`](?:minimal|low|medium|high|xhigh|max)\b/i;

/** Providers have many a word for how much is thought, their options' among them. */
const ofEffort =
  /^(?:providerOptions\.\w+\.)?(?:reasoning(?:Effort|Config)?|(?:extended |adaptive )?thinking|effort|budgetTokens)\b/;

/** Parts of messages, and what is said of a schema. */
const ofParts = /^user message part type: (?:file|image)/;
const ofFormat = /^responseFormat\b/;

function fieldsOf(feature: string): readonly string[] {
  if (ofParts.test(feature)) return ["image_url", "file", "input_audio"];
  if (ofFormat.test(feature)) return ["response_format"];
  return fields[feature] ?? (ofEffort.test(feature) ? [effort] : []);
}
