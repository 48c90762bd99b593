/** What model servers want to see again of thoughts, as signatures, and as what is redacted. */
import { type JsonObject, parseJson } from "../../core/json.js";
import { detailsIn } from "../../core/reasoning.js";
import { sealed, unsealed } from "../json/kept-thoughts.js";

/** How OpenRouter calls what is Claude's own. */
const claude = "anthropic-claude-v1";

/** The signature of thoughts that no model server wants more of: clients drop those that have none, and ask for no more. */
const unsigned = sealed("");

/**
 * A signature for details. Claude's own is left as it is: its clients may go on elsewhere.
 * @param details a JSON array as text; empty: nothing
 * @param hidden the thoughts, where the client is not to see them: the model server may want them again
 */
export function signatureOf(details: string, hidden = ""): string {
  if (hidden !== "") return sealed(details, hidden);
  const [first, ...more] = detailsIn(details);
  if (!first) return unsigned;
  const isClaudes = more.length === 0 && first.format === claude;
  return isClaudes && typeof first.signature === "string" ? first.signature : sealed(details);
}

/** Thoughts, and the details that a signature has. @param thinking the text that it stands with */
export function signedBy(signature: string, thinking: string) {
  if (signature === "") return { thinking, details: [] };
  const own = { type: "reasoning.text", text: thinking, signature, format: claude, index: 0 };
  const kept = unsealed(signature) ?? { thinking, details: [own] };
  return { thinking: kept.thinking || thinking, details: kept.details };
}

/** The details that redacted thoughts have. */
export const redactedIn = (data: string): readonly JsonObject[] =>
  unsealed(data)?.details ?? [{ type: "reasoning.encrypted", data, format: claude, index: 0 }];

/** The type of a detail that has what a call has to come back with, where that came after the call had begun. */
const ofCall = "lintel.extra_content";

/** Such a detail, as a JSON array as text. @param extraContent a JSON object as text */
export const lateExtra = (id: string, extraContent: string): string =>
  JSON.stringify([{ type: ofCall, id, extra_content: parseJson(extraContent) }]);

/** Tells such details from the others: what they have by the ids of calls. */
export function callsExtras(details: readonly JsonObject[]) {
  const extras = new Map(
    details.flatMap(({ type, id, extra_content }) =>
      type === ofCall ? [[id, extra_content] as const] : [],
    ),
  );
  return {
    extras,
    others: extras.size > 0 ? details.filter(({ type }) => type !== ofCall) : details,
  };
}
