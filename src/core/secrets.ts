/**
 * Keys that this process was configured with. A model server may repeat in its
 * errors what it was sent: wherever others' words are shown or logged, what is
 * known here is taken out.
 */

/** Shorter ones are words, such as the bearer token of a server that takes any. */
const shortest = 8;

const known = new Set<string>();
let pattern: RegExp | undefined;

/** Remembers keys. Those that were forgotten in the configuration stay secret. */
export function keepSecret(secrets: Iterable<string>): void {
  const before = known.size;
  for (const secret of secrets) {
    if (secret.length < shortest) continue;
    known.add(secret);
    // As it stands inside of JSON.
    known.add(JSON.stringify(secret).slice(1, -1));
  }
  if (known.size === before) return;
  // Of two that begin alike the longer one first.
  const longestFirst = [...known].sort((a, b) => b.length - a.length);
  pattern = new RegExp(longestFirst.map(literally).join("|"), "g");
}

const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A text without the keys that are known. */
export const withoutSecrets = (text: string): string =>
  pattern === undefined ? text : text.replace(pattern, "[key]");
