/**
 * What model servers want to see again of thoughts, in the one place that clients of the Messages
 * API hand back untouched: a signature, or what is redacted.
 */
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { detailsIn } from "../../core/reasoning.js";

/** What stands in front of details that are packed. */
const mark = "lintel.";

/** How OpenRouter calls what is Claude's own. */
const claude = "anthropic-claude-v1";

/**
 * A signature for details. Claude's own is left as it is: others may go on with the conversation.
 * @param details a JSON array as text
 */
export function signatureOf(details: string): string {
  const all = detailsIn(details);
  if (all.length === 0) return "";
  const [first] = all;
  if (all.length === 1 && first?.format === claude && typeof first.signature === "string") {
    return first.signature;
  }
  return mark + Buffer.from(JSON.stringify(all)).toString("base64url");
}

/** The details that a signature has. @param thinking the text that it stands with */
export function signedBy(signature: string, thinking: string): JsonObject[] {
  if (signature === "") return [];
  return (
    unpacked(signature) ?? [
      { type: "reasoning.text", text: thinking, signature, format: claude, index: 0 },
    ]
  );
}

/** The details that redacted thoughts have. */
export const redactedIn = (data: string): JsonObject[] =>
  unpacked(data) ?? [{ type: "reasoning.encrypted", data, format: claude, index: 0 }];

function unpacked(text: string): JsonObject[] | undefined {
  if (!text.startsWith(mark)) return undefined;
  const packed = Buffer.from(text.slice(mark.length), "base64url").toString();
  const details = parseJson(packed);
  return Array.isArray(details) ? details.filter(isObject) : undefined;
}
