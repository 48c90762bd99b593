/** What a provider left out, in words for the caller. */
import type { SharedV3Warning } from "@ai-sdk/provider";
import { withoutAddresses } from "../../core/withheld.js";

/** Our fields by the names of the common interface's. */
const fields: Readonly<Record<string, readonly string[]>> = {
  temperature: ["temperature"],
  topP: ["top_p"],
  topK: ["top_k"],
  maxOutputTokens: ["max_tokens"],
  seed: ["seed"],
  stopSequences: ["stop"],
  tools: ["tools"],
  toolChoice: ["tool_choice"],
  responseFormat: ["response_format"],
  size: ["width", "height"],
  n: ["num_images_per_prompt"],
};

/** A provider's warning. */
export interface Dropped {
  /** The request fields that it is about; none for whatever else it says. */
  readonly fields: readonly string[];
  /** Whether the fields were left out altogether. */
  readonly ignored: boolean;
  /** In words. */
  readonly text: string;
}

/** Reads a warning; interfaces after v3 may add kinds of them. */
export function readWarning(warning: SharedV3Warning): Dropped {
  const said = "message" in warning ? warning.message : (warning.details ?? "");
  const about = "feature" in warning ? (fields[warning.feature] ?? []) : [];
  const named = about.join(", ") || ("feature" in warning ? warning.feature : "");
  // Where a value is only bent, the details say how: "clamped to 1".
  const bent = /\b(?:clamp|limit|cap|reduc|adjust|exceed|convert|round|deriv)/i.test(said);
  const ignored = warning.type === "unsupported" && !bent;
  const words = ignored && about.length > 0 ? "not supported by this model, ignored" : said;
  const text = [named, words || "not supported by this model"].filter((part) => part !== "");
  return { fields: about, ignored, text: withoutAddresses(text.join(": ")) };
}
