/** Secrets of Standard Webhooks, and a client of others that knows who signed with them. */
import type { IncomingHttpHeaders } from "node:http";
import OpenAI from "openai";

export const secrets = ["new", "old", "other"].map(
  (name) => `whsec_${Buffer.from(name.padEnd(32, "-")).toString("base64")}`,
) as [string, string, string];

/** Whether a request was signed with a secret, within five minutes of now. */
export async function isSignedWith(
  secret: string,
  { raw, headers }: { readonly raw: string; readonly headers: IncomingHttpHeaders },
): Promise<boolean> {
  const client = new OpenAI({ apiKey: "none" });
  try {
    await client.webhooks.verifySignature(raw, headers as Record<string, string>, secret);
    return true;
  } catch (error) {
    if (error instanceof OpenAI.InvalidWebhookSignatureError) return false;
    throw error;
  }
}
