/**
 * Google's signatures of thoughts, without which Gemini 3 and later take no call of a tool back. In
 * the contract they stand as its OpenAI endpoint has them: either way may go on with a conversation.
 */
import type { SharedV3ProviderMetadata, SharedV3ProviderOptions } from "@ai-sdk/provider";
import { isObject, parseJson } from "../../core/json.js";
import { string } from "../http/json.js";

/** The `extra_content` of a call, by what its provider says of it. */
export function extraContentOf(said: SharedV3ProviderMetadata = {}): string {
  // The key is Google's, Vertex's, or the operator's name for a server.
  for (const { thoughtSignature } of Object.values(said)) {
    const thought_signature = string(thoughtSignature);
    if (thought_signature !== "") return JSON.stringify({ google: { thought_signature } });
  }
  return "";
}

/** What providers are to be told of a call with this `extra_content`. */
export function signedBy(extraContent: string): SharedV3ProviderOptions | undefined {
  const extra = parseJson(extraContent);
  const google = isObject(extra) && isObject(extra.google) ? extra.google : {};
  return signedAs(string(google.thought_signature))?.providerOptions;
}

/** What stands with a part of a message that has a signature. */
export const signedAs = (thoughtSignature: string | undefined) =>
  thoughtSignature ? { providerOptions: { google: { thoughtSignature } } } : undefined;
