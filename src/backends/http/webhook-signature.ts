/** Signatures by which who is sent something knows that it comes from here, by Standard Webhooks. */
import { createHmac } from "node:crypto";
import { randomId } from "../../core/random-id.js";

/** What such a secret begins with; base64 follows. */
export const secretPrefix = "whsec_";

/** Makes the headers that go with a body: names in lower case. */
export type Sign = (body: string, id?: string) => Readonly<Record<string, string>>;

/** A name of one message, by which who gets it twice, as it is sent again, may know that. */
export const messageId = (): string => `msg_${randomId(18)}`;

/**
 * Signs with each of some secrets: who gets it may know the newest one, or the one before.
 * @param secrets each `whsec_` and base64
 * @param now milliseconds since the epoch
 * @returns `undefined` without any
 */
export function signing(
  secrets: readonly string[] = [],
  now: () => number = Date.now,
): Sign | undefined {
  if (secrets.length === 0) return undefined;
  const keys = secrets.map((secret) => Buffer.from(secret.slice(secretPrefix.length), "base64"));
  return (body, id = messageId()) => {
    const timestamp = String(Math.floor(now() / 1000));
    const signatures = keys.map((key) => {
      const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
      return `v1,${hmac.digest("base64")}`;
    });
    return {
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signatures.join(" "),
    };
  };
}
