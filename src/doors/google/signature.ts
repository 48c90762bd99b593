/** What model servers want to see again of thoughts and of calls, as signatures of parts. */
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { detailsIn } from "../../core/reasoning.js";
import { sealed, unsealed } from "../json/kept-thoughts.js";

/** How OpenRouter calls what is Gemini's own. */
const gemini = "google-gemini-v1";

/** The signature of a part of thoughts; empty: there is nothing to see again. @param details a JSON array as text */
export const signatureOf = (details: string): string =>
  detailsIn(details).length === 0 ? "" : sealed(details);

/** The details in a signature of a part: ours, or Gemini's own, which a client has from elsewhere. */
export function detailsOf(signature: string): JsonObject[] {
  const details = parseJson(unsealed(signature));
  if (Array.isArray(details)) return details.filter(isObject);
  return [{ type: "reasoning.encrypted", data: signature, format: gemini, index: 0 }];
}

/** The signature of a call; `undefined` where its server gave none. @param extraContent JSON as text */
export function callSignatureOf(extraContent: string): string | undefined {
  const extra = extraContent === "" ? undefined : parseJson(extraContent);
  if (!isObject(extra)) return undefined;
  const google = isObject(extra.google) ? extra.google : {};
  const { thought_signature: own } = google;
  return typeof own === "string" ? own : sealed(JSON.stringify([extra]));
}

/** What a server gave with a call, by that signature. */
export function extraContentOf(signature: string): JsonObject {
  const [kept] = detailsIn(unsealed(signature));
  return kept ?? { google: { thought_signature: signature } };
}
