/**
 * What callers are not told of a model server's words: where it runs, what lies there, where in its
 * code it failed, and what looks like a key. Texts may be long: a part of them is looked at, and no expression goes over
 * it again and again.
 */
import { isIPv6 } from "node:net";
import { withoutSecrets } from "./secrets.js";

/** Characters that are looked at, and that are told. */
const looked = 4000;
const told = 500;

const address = "[address]";
const key = "[key]";
const path = "[path]";

/** First steps of what are paths of an API or of a document, not of a disk. */
const noDisk =
  "v\\d\\w*|api|openai|messages|tools|functions|properties|items|definitions|response_format|\\$defs";

const replacements: readonly (readonly [RegExp, string | ((found: string) => string)])[] = [
  // Of Python what was raised stands below its stack, of others above.
  [/\bTraceback \(most recent call last\):\r?\n(?:[ \t]+[^\n]*\n?)*/g, ""],
  [/(?:\n[ \t]+at [^\n]*)+/g, ""],
  [/\b(?:(?:https?|grpcs?|unix|wss?):\/*|(?:file|tcp|s3|gs|rediss?):\/+)\S+/gi, address],
  [/\b[a-z][a-z0-9+]{1,11}:\/\/[^\s/@]{1,200}@\S+/gi, address],
  // A JSON web token, also one that is cut off: its first part is an object in base64.
  [/\beyJ[\w-]{8,}[\w.-]*/g, key],
  [/\b(?:sk|key|tok|lt)[-_][A-Za-z0-9_-]{6,}/g, key],
  [/\bhf_(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{8,}/g, key],
  [/\b(?:gsk_|xai-|nvapi-|AIza)(?=[\w-]*\d)[\w-]{16,}/g, key],
  [/\bA(?:KIA|SIA)[A-Z0-9]{12,}/g, key],
  [/\bBearer\s+\S+/gi, key],
  // What OpenAI and Groq, and xAI, call the operator's account and key.
  [/\borg[-_][A-Za-z0-9]{20,}/g, key],
  [/(?<=\b(?:team|key)(?: id)?: )[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, key],
  // Base64 of a pair, not words as in "Basic authentication".
  [/\b[Bb]asic\s+(?=[A-Za-z+/]*(?:\d|=|[a-z][A-Z]))[A-Za-z0-9+/]{8,}={0,2}/g, key],
  [/(?<![\w./~-])[A-Za-z]:[\\/][^\s"'`<>|,;)\]]+/g, path],
  [
    new RegExp(`(?<![\\w./<~-])~?/(?!(?:${noDisk})(?![\\w.-]))[\\w.@+~=-]+/[\\w.@+~=/-]*`, "g"),
    path,
  ],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, address],
  [/\[(?=[0-9a-f]*:)[0-9a-f:]+\](?::\d+)?/gi, address],
  [/(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,8}(?:%\w+)?(?![\w:])/gi, withoutIPv6],
  [/\blocalhost(?::\d+)?/gi, address],
  [/(?<=\b(?:ENOTFOUND|EAI_AGAIN) )[\w.-]+/g, address],
  // Names of inner networks, also without a port: nobody else has these top levels.
  [
    /(?<![\w.@-])(?:[a-z0-9-]+\.){1,9}(?:internal|local|localdomain|lan|home\.arpa)\b(?![.-]?\w)(?::\d{2,5})?/gi,
    address,
  ],
  // A name with dots and a port; without dots only where it is said that it is a host.
  [/(?<![\w.-])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*:\d{2,5}\b/gi, address],
  [
    /(?<=\b(?:to|at|from|host|server|upstream|tcp)[\s:="'(]{1,3})(?!(?:line|column|pos|position|index|offset|tokens?|length)\b)[a-z][a-z0-9-]*:\d{4,5}\b/gi,
    address,
  ],
];

/** A time of the day has colons, too, and a sentence has one behind the address. */
function withoutIPv6(found: string): string {
  const bare = found.replace(/(?<!:):$/, "");
  return /\d/.test(bare) && isIPv6(bare) ? address + found.slice(bare.length) : found;
}

/** Takes addresses, paths and things that look like keys out of a server's message. */
export function withoutAddresses(text: string): string {
  let shown = withoutSecrets(text.slice(0, looked));
  for (const [pattern, by] of replacements) {
    shown = typeof by === "string" ? shown.replace(pattern, by) : shown.replace(pattern, by);
  }
  return shown.slice(0, told);
}
