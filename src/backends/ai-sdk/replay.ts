/** Thoughts of earlier answers, as providers take them back. */
import type { LanguageModelV3ReasoningPart, SharedV3ProviderOptions } from "@ai-sdk/provider";
import type { LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { detailsIn } from "../../core/reasoning.js";
import {
  missingThoughts,
  otherThoughts,
  signedThoughts,
  thoughts,
} from "../completions/thoughts.js";
import { string } from "../http/json.js";
import type { ChatPackage } from "./chat-package.js";
import { formats } from "./details.js";

/** What a message of the assistant has of thoughts, and what stands with the rest of it. */
export interface Replayed {
  readonly reasoning: readonly LanguageModelV3ReasoningPart[];
  /** Of the whole message. */
  readonly ofMessage?: SharedV3ProviderOptions;
  /** Signatures of Google's: of calls by their ids, of the text by an empty one. */
  readonly signatures: ReadonlyMap<string, string>;
}

/** Says what is handed back with a message. */
export type Replay = (message: LLMMessage) => Replayed;

const nothing: Replayed = { reasoning: [], signatures: new Map() };

/** Nothing is handed back. */
export const noReplay: Replay = () => nothing;

/**
 * How a package's thoughts are handed back.
 * @param stored whether the vendor keeps answers: OpenAI's provider then names what it may not have
 * @param refused what the vendor has refused
 */
export function replayTo(
  { keys, thoughts: taken }: ChatPackage,
  stored: boolean,
  refused: ReadonlySet<string>,
): Replay {
  if (taken === "text" || taken === "fields") {
    if (refused.has(thoughts) || refused.has(otherThoughts)) return noReplay;
    const instead = refused.has(missingThoughts) ? " " : "";
    return (message) => asText(message, instead, taken === "fields" ? keys : []);
  }
  if (refused.has(signedThoughts) || stored) return noReplay;
  const takes = { keys, formats: taken };
  return ({ reasoningDetails = "" }) => {
    const details = detailsIn(reasoningDetails);
    if (details.length === 0) return nothing;
    return { reasoning: partsOf(details, takes), signatures: signaturesIn(details, takes) };
  };
}

/** @param keys of the options that become fields of the message */
function asText(
  { reasoningContent, reasoningDetails = "" }: LLMMessage,
  instead: string,
  keys: readonly string[],
): Replayed {
  const details = detailsIn(reasoningDetails);
  const text = reasoningContent || details.map(textIn).filter(Boolean).join("\n\n") || instead;
  const fields = { reasoning_details: details };
  const options = details.length > 0 && keys.map((key) => [key, fields]);
  return {
    ...nothing,
    ...(text !== "" && { reasoning: [{ type: "reasoning", text }] }),
    ...(options && { ofMessage: Object.fromEntries(options) }),
  };
}

const textIn = ({ text, summary }: JsonObject): string => string(text) || string(summary);

/** Which details a provider takes, and under which keys. */
interface Takes {
  readonly keys: readonly string[];
  /** Absent: all, each under the usual key of its vendor. */
  readonly formats: readonly string[] | undefined;
}

/** Whether some of the details say in Claude's form what it has thought. */
export const hasClaudes = (details: string): boolean =>
  detailsIn(details).some(
    (detail) =>
      formatOf(detail) === "anthropic-claude-v1" &&
      (string(detail.signature) !== "" || string(detail.data) !== ""),
  );

/** Where none is named it is Anthropic's, which was there first. */
const formatOf = ({ format }: JsonObject): string => string(format) || "anthropic-claude-v1";

const isTaken = ({ formats: taken }: Takes, detail: JsonObject): boolean =>
  taken === undefined || taken.includes(formatOf(detail));

function partsOf(details: readonly JsonObject[], takes: Takes): LanguageModelV3ReasoningPart[] {
  const items = new Map(
    details
      .filter((detail) => detail.type === "reasoning.encrypted" && isTaken(takes, detail))
      .map(({ id, data }) => [string(id), string(data)]),
  );
  const parts: LanguageModelV3ReasoningPart[] = [];
  /** Items of which there is a part. */
  const begun = new Set<string>();
  for (const detail of details) {
    const format = formatOf(detail);
    const known = isTaken(takes, detail)
      ? format.endsWith("responses-v1")
        ? ofItem(detail, items, begun)
        : ofBlock(detail, format)
      : undefined;
    const text = string(detail.text) || string(detail.summary);
    const providerOptions = joined(foreignIn(detail, takes), known && keyed(format, takes, known));
    if (Object.keys(providerOptions).length > 0) {
      parts.push({ type: "reasoning", text, providerOptions });
    }
  }
  return parts;
}

/** Google's signatures without a text are of what is no thought. */
function ofBlock({ type, signature, data }: JsonObject, format: string): JsonObject | undefined {
  const [signed, encrypted] = [string(signature), string(data)];
  if (format === "google-gemini-v1") {
    return signed === "" ? undefined : { thoughtSignature: signed };
  }
  if (format !== "anthropic-claude-v1") return undefined;
  if (type === "reasoning.encrypted") return { redactedData: encrypted };
  return signed === "" ? undefined : { signature: signed };
}

/**
 * An item has one text that is encrypted, and summaries, each of which says so: what is encrypted
 * has a part of its own only where there is none. Without it a summary stands for nothing.
 */
function ofItem(
  { type, id }: JsonObject,
  items: ReadonlyMap<string, string>,
  begun: Set<string>,
): JsonObject | undefined {
  const itemId = string(id);
  const data = items.get(itemId) ?? "";
  const again = begun.has(itemId) && (type === "reasoning.encrypted" || itemId === "");
  if (data === "" || again) return undefined;
  begun.add(itemId);
  return { ...(itemId !== "" && { itemId }), reasoningEncryptedContent: data };
}

/** Under all keys of a package, else under its vendor's. */
function keyed(format: string, { keys }: Takes, said: JsonObject): Record<string, JsonObject> {
  const usual = Object.keys(formats).find((key) => formats[key] === format);
  const names = keys.length > 0 ? keys : usual === undefined ? [] : [usual];
  return Object.fromEntries(names.map((name) => [name, said]));
}

/** What a provider has said of a block, and nobody else knows. */
function foreignIn({ provider_metadata: said }: JsonObject, { keys, formats: taken }: Takes) {
  const all = isObject(said) ? Object.entries(said) : [];
  return Object.fromEntries(
    all.filter(([key, value]) => isObject(value) && (!taken || keys.includes(key))),
  ) as Record<string, JsonObject>;
}

const joined = (
  a: Record<string, JsonObject>,
  b: Record<string, JsonObject> = {},
): SharedV3ProviderOptions =>
  Object.fromEntries(
    Object.keys({ ...a, ...b }).map((key) => [key, { ...a[key], ...b[key] }]),
  ) as SharedV3ProviderOptions;

/** An answer's text has no id; in OpenRouter's form calls have theirs. */
function signaturesIn(details: readonly JsonObject[], takes: Takes): Map<string, string> {
  return new Map(
    details
      .filter(({ type }) => type === "reasoning.encrypted")
      .filter((detail) => formatOf(detail) === "google-gemini-v1" && isTaken(takes, detail))
      .map(({ id, data }) => [string(id), string(data)]),
  );
}
