/** Kinds of data that are found by their form, and by checksums where they have one. */
import { creditCard } from "./cards.js";
import {
  divides,
  type Finder,
  jsonEscape,
  runAtEnd,
  runBefore,
  type Span,
  spansOf,
} from "./finder.js";
import { iban } from "./ibans.js";

const jsonEscaped = new RegExp(jsonEscape, "y");
const longestEscape = 6;

/** Where text begins that follows a place in it: behind the escape that it is part of, whose letters are none of its own. */
function behindEscape(text: string, at: number): number {
  for (let begin = at - 1; begin >= 0 && begin > at - longestEscape; begin--) {
    if (text[begin] !== "\\") continue;
    jsonEscaped.lastIndex = begin;
    return jsonEscaped.test(text) ? Math.max(at, jsonEscaped.lastIndex) : at;
  }
  return at;
}

/** Halves of letters that are none of UTF-16's own count as letters. */
const inLocalPart = /[\p{L}\p{N}._%+\ud800-\udfff-]/u;
const mostLocal = 64;
/** What code has behind a product of matrices, as `A@B.transpose()`; none is a top-level domain. */
const ofMatrices =
  "(?:transpose|swapaxes|permute|reshape|flatten|ravel|(?:un)?squeeze|contiguous|astype|conj(?:ugate)?|adjoint|inverse|detach|numpy|tolist)(?![\\p{L}\\p{N}-])";
const domain = new RegExp(
  `(?:[\\p{L}\\p{N}](?:[\\p{L}\\p{N}-]{0,61}[\\p{L}\\p{N}])?\\.){1,8}(?:xn--[a-z0-9-]{1,59}|(?!${ofMatrices})\\p{L}{2,63})`,
  "uy",
);

const email: Finder = {
  find(text) {
    const found: Span[] = [];
    for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
      const run = runBefore(text, at, inLocalPart, mostLocal);
      const begin = behindEscape(text, divides(text, run) ? run + 1 : run);
      const start = Math.max(begin, found.at(-1)?.end ?? 0);
      domain.lastIndex = at + 1;
      if (start < at && domain.test(text)) found.push({ start, end: domain.lastIndex });
    }
    return found;
  },
  open: (text) => runAtEnd(text, /[\p{L}\p{N}._%+@\ud800-\udfff-]/u, 320),
};

/** Keys whose makers begin them with something to find them by, and JSON web tokens. */
const keys = new RegExp(
  `(?:(?<![A-Za-z0-9])|(?<=${jsonEscape}))(?:${[
    // OpenAI, Anthropic, OpenRouter, DeepSeek and others.
    "sk-[\\w-]{20,}",
    // Stripe.
    "[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    // GitHub, GitLab.
    "gh[oprsu]_[A-Za-z0-9]{30,}",
    "github_pat_\\w{22,}",
    "glpat-[\\w-]{20,}",
    // AWS, Google, Slack, SendGrid.
    "A(?:KIA|SIA)[A-Z0-9]{16}",
    "AIza[\\w-]{35}",
    "xox[a-z]-[A-Za-z0-9-]{10,}",
    "SG\\.[\\w-]{16,64}\\.[\\w-]{16,}",
    // Hugging Face, npm, Groq, xAI, NVIDIA.
    "hf_[A-Za-z0-9]{30,}",
    "npm_[A-Za-z0-9]{36}",
    "gsk_[A-Za-z0-9]{40,}",
    "xai-[A-Za-z0-9]{40,}",
    "nvapi-[\\w-]{40,}",
    // Lintel itself.
    "lt_[\\w-]{43}",
    // A JSON web token: its first part is an object in base64.
    "eyJ[\\w-]{10,512}\\.[\\w-]{10,}[\\w.-]*",
  ].join("|")})`,
  "g",
);

const apiKey: Finder = {
  find: (text) => spansOf(text, keys),
  // The first part of a web token is up to 512.
  open: (text) => runAtEnd(text, /[\w.-]/, 600),
};

/** The end of a line; `\n` may stand for it, in JSON within strings of JSON with more backslashes. */
const pemBlank = "(?:\\s|\\\\{1,8}[nr])";
/**
 * What stands between lines that are strings in code or lists, or quoted ones. No two of its items may match
 * the same: where nothing follows, each way to part a row of backslashes would be tried.
 */
const pemGlue =
  "[^A-Za-z0-9+/=\\s\\\\-](?:[^A-Za-z0-9+/=\\\\-]|\\+(?=[\\s\"'\\\\]|$)|\\\\(?:[nrt]|(?![nrt]))){0,60}";
/** A character of a line ahead of its own; `\"` may end a string around it. */
const pemValue = "(?:[^\\r\\n\\\\]|\\\\{1,8}[\"'/])";
/** How a key begins in PEM, up to the last whole line ahead of its own, such as those of PGP. */
const pemHead = `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----${pemBlank}{0,40}(?:(?:\\\\{0,8}${pemGlue})?[A-Z][A-Za-z-]{1,20}: (?:${pemValue}{1,80}(?:[\\r\\n]|\\\\{1,8}[nr])|[\\w,-]{1,60}(?:${pemBlank}|(?=\\\\{0,8}["'])))${pemBlank}{0,40}){0,4}`;
const pemLines = `${pemHead}[A-Za-z0-9+/=\\s\\\\]*(?:${pemGlue}[A-Za-z0-9+/=]{16}[A-Za-z0-9+/=\\s\\\\]*)*`;
/** A short last line, and what stands ahead of its end. */
const pemLast = `(?:${pemGlue}[A-Za-z0-9+/=]{1,64}${pemBlank}{0,40}\\\\{0,8})?(?:${pemGlue})?`;
/** A key as OpenSSL and OpenSSH write it, also without its end, or with half of it. */
const pem = new RegExp(
  `${pemLines}(?:${pemLast}-----END [A-Z0-9 ]{0,60}(?:-{5}(?!BEGIN)|-{1,4}(?!-*BEGIN))?|-{1,5}(?:EN?D?)?$)?`,
  "g",
);
/** One as far as it is there: what has no end behind it searches no text twice. */
const pemSoFar = new RegExp(`${pemLines}${pemLast}(?:-{1,5}(?:EN?D?)?|\\\\{1,8})?`, "y");
/** One that ends in a line ahead of its own, such as that of how it is encrypted. */
const pemAhead = new RegExp(
  `${pemHead}(?:\\\\{0,8}${pemGlue})?[A-Z][A-Za-z-]{0,20}(?::[ ]?${pemValue}{0,80})?\\\\{0,8}$`,
  "y",
);
const pemBegin = "-----BEGIN";
/** Longest first line of one, and more. */
const longestLine = 90;

const privateKey: Finder = {
  find: (text) => spansOf(text, pem),
  open(text) {
    const begun = text.lastIndexOf(pemBegin);
    if (begun >= 0) {
      const goesOn =
        text.length - begun <= longestLine ||
        [pemSoFar, pemAhead].some((so) => {
          so.lastIndex = begun;
          return so.test(text) && so.lastIndex === text.length;
        });
      return goesOn ? begun : text.length;
    }
    for (let length = pemBegin.length - 1; length > 0; length--) {
      if (text.endsWith(pemBegin.slice(0, length))) return text.length - length;
    }
    return text.length;
  },
};

/** By the names that the configuration has for them. */
export const kinds = {
  email,
  credit_card: creditCard,
  iban,
  api_key: apiKey,
  private_key: privateKey,
} as const satisfies Record<string, Finder>;

/** Name of a kind. */
export type Kind = keyof typeof kinds;
