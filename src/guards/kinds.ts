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
  withoutEnd,
} from "./finder.js";
import { iban } from "./ibans.js";
import { namedKey } from "./named-keys.js";

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
      if (start === at || !domain.test(text)) continue;
      const end = domain.lastIndex;
      // Where a repository is, as `git@example.com:team/repository`.
      const isOfGit = text.slice(start, at) === "git" && /[:/]/.test(text.charAt(end));
      if (!isOfGit) found.push({ start, end });
    }
    return found;
  },
  open: (text) => runAtEnd(text, /[\p{L}\p{N}._%+@\ud800-\udfff-]/u, 320),
};

/** Keys whose makers begin them with something to find them by, and JSON web tokens: all of letters, digits, `_`, `-` and `.`. */
const plainKeys = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek and others; not words, as names of classes and pages are.
  "sk-(?!(?:[a-z]{1,16}|\\d{1,4})(?:[_-]{1,2}(?:[a-z]{1,16}|\\d{1,4})){1,16}(?![\\w-]))[\\w-]{20,}",
  // Stripe.
  "[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
  // GitHub, GitLab, with the length and checksum that newer ones have behind a dot.
  "gh[oprsu]_[A-Za-z0-9]{30,}",
  "github_pat_\\w{22,}",
  "gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rtr?|soat|wt)-[\\w-]{20,}(?:\\.[0-9a-z]{2}\\.?[0-9a-z]{7,9})?",
  // AWS, Google, Slack, SendGrid.
  "A(?:KIA|SIA|BIA)[A-Z0-9]{16}",
  "AIza[\\w-]{35}",
  "AQ\\.[\\w-]{40,}",
  "GOCSPX-[\\w-]{28}",
  "ya29\\.[\\w-]{20,}",
  "xox[a-z](?:\\.xox[a-z])?-[A-Za-z0-9-]{10,}",
  "xapp-\\d-[A-Za-z0-9-]{10,}",
  "SG\\.[\\w-]{16,64}\\.[\\w-]{16,}",
  // Hugging Face, npm, PyPI, Docker, DigitalOcean, Databricks, Shopify, Vault.
  "(?:hf|api_org)_[A-Za-z0-9]{30,}",
  "npm_[A-Za-z0-9]{36}",
  "pypi-AgE[\\w-]{50,}",
  "dckr_[a-z]{3}_[\\w-]{27}",
  "do[opr]_v1_[a-f0-9]{64}",
  "dapi[a-f0-9]{32}(?:-\\d)?",
  "shp[a-z]{2}_[a-fA-F0-9]{32}",
  "hv[bsr]\\.[\\w-]{24,}",
  // Groq, xAI, NVIDIA, Perplexity, Cerebras, Replicate.
  "gsk_[A-Za-z0-9]{40,}",
  "xai-[A-Za-z0-9]{40,}",
  "nvapi-[\\w-]{40,}",
  "(?:pplx|csk)-[A-Za-z0-9]{40,}",
  "r8_[A-Za-z0-9]{37}",
  // Atlassian, Grafana, Linear, Notion, Airtable, Figma, Supabase, PostHog, Postman, New Relic.
  "ATATT3[\\w-]{60,}",
  "gl(?:sa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|c_eyJ[A-Za-z0-9]{30,})",
  "lin_(?:api|oauth)_[A-Za-z0-9]{40,}",
  "ntn_[A-Za-z0-9]{40,}",
  "pat[A-Za-z0-9]{14}\\.[a-f0-9]{64}",
  "figd_[\\w-]{38,}",
  "sb(?:p_(?:v0_)?[a-f0-9]{40}|_secret_[\\w-]{20,})",
  "ph[xs]_[A-Za-z0-9]{40,}",
  "PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
  "NRAK-[A-Z0-9]{27}",
  // LangSmith, Tavily, Doppler, Pulumi, Terraform, age.
  "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}",
  "tvly-(?:[a-z]{3,4}-)?[A-Za-z0-9]{32}",
  "dp\\.(?:audit|ct|pt|sa|scim|st)\\.(?:[\\w-]{2,35}\\.)?[A-Za-z0-9]{40}",
  "pul-[a-f0-9]{40}",
  "[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{60,}",
  "AGE-SECRET-KEY-1[A-Z0-9]{58}",
  // Lintel itself.
  "lt_[\\w-]{43}",
  // A JSON web token: its first part is an object in base64, and the second may be empty.
  "eyJ[\\w-]{10,512}\\.\\.?[\\w-]{10,}[\\w.-]*",
];
/** Those with other signs, which come first: secrets of webhooks as Stripe's, sessions of Slack and addresses to write there, Bedrock. */
const keysWithSigns = [
  "whsec_[A-Za-z0-9+/=]{24,}",
  "xoxd-[\\w%+/=-]{10,}",
  "hooks\\.slack\\.com/[a-z]{8,9}/[\\w/+-]{20,}",
  "ABSK[A-Za-z0-9+/]{100,}={0,2}",
  "bedrock-api-key-[A-Za-z0-9+/]{60,}={0,2}",
];
const keys = new RegExp(
  `(?:(?<![A-Za-z0-9])|(?<=${jsonEscape}))(?:${withoutEnd([...keysWithSigns, ...plainKeys].join("|"))})`,
  "g",
);
/** One of these as far as it is there. */
const begunWithSigns = /(?:whsec_|xoxd-|hooks\.slack\.com\/|ABSK|bedrock-api-key-)[\w%+/=-]*$/;

const apiKey: Required<Finder> = {
  find(text) {
    const found = spansOf(text, keys);
    const named = namedKey.find(text);
    if (named.length === 0) return found;
    let end = 0;
    // Of two at one place that with a begin of its own comes first.
    return [...found, ...named]
      .sort((one, other) => one.start - other.start)
      .filter((span) => {
        const apart = span.start >= end;
        if (apart) end = span.end;
        return apart;
      });
  },
  behind: namedKey.behind,
  open(text) {
    // The first part of a web token is up to 512.
    const from = Math.max(0, text.length - 600);
    const begun = begunWithSigns.exec(text.slice(from));
    const signed = begun ? from + begun.index : text.length;
    return Math.min(runAtEnd(text, /[\w.-]/, 600), signed, namedKey.open(text));
  },
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
