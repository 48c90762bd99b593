/** Keys without a begin of their own, by the name that stands before them, and those of Azure that have a form. */
import { type Finder, runAtEnd, spansOf } from "./finder.js";

/** What stands between a name and its value in code, settings, headers and commands, also in JSON within strings. */
const between = "\\\\{0,8}[\"'`]?(?:\\s{0,4}[:=]>?\\s{0,4}|\\s)\\\\{0,8}[\"'`]?";
/** Of Azure's services, Cohere, Mistral and others. */
const ofApi = "(?:api[ _-]?|subscription-)key";
/** Of AWS. */
const ofAws = "secret[ _-]?(?:access[ _-]?)?key";
/** Of Azure's storage, queues and so on. */
const ofAzure = "(?:account|shared[_-]?access)key";

/**
 * Letters and digits together, as no word and no number is: what stands in place of a key (`YOUR_KEY`, `xxxx`) is none.
 * The name itself is not part of it.
 */
const named = [
  `(?<=${ofApi}${between})(?=[a-z]{0,83}\\d)(?=\\d{0,83}[a-z])[a-z0-9]{32,84}(?![\\w+/=-])`,
  `(?<=${ofAws}${between})(?=[a-z+/]{0,39}\\d)(?=[\\d+/]{0,39}[a-z])[a-z0-9+/]{40}(?![\\w+/=])`,
  `(?<=${ofAzure}${between})(?:[a-z0-9+/]{86}==|[a-z0-9+/]{43}=)(?!=)`,
];
/** Of applications in Microsoft's Entra. */
const entra = "(?<![\\w~.])[\\w~.]{3}\\dQ~[\\w~.-]{31,34}(?![\\w~-])";
const keys = new RegExp(`(?<![a-z0-9+/])(?:${named.join("|")})|${entra}`, "gi");

/** A name as far as it is there, with as much of its value as is. */
const begun = new RegExp(
  `(?:${ofApi}|${ofAws}|${ofAzure})(?:${between}[a-z0-9+/]{0,86}={0,2}|[\\s\\\\"'\`:=>]{0,18})$`,
  "i",
);
/** What ends with a name. */
const name = new RegExp(`(?:${ofApi}|${ofAws}|${ofAzure})$`, "i");
/** More than the longest name with its value. */
const longest = 160;

/** Finds them. */
export const namedKey: Required<Finder> = {
  find: (text) => spansOf(text, keys),
  behind(said, text) {
    const [own] = name.exec(said.slice(-longest)) ?? [];
    if (own === undefined) return [];
    const from = own.length + 1;
    return spansOf(`${own}:${text}`, keys).map(({ start, end }) => ({
      start: start - from,
      end: end - from,
    }));
  },
  open(text) {
    const from = Math.max(0, text.length - longest);
    const name = begun.exec(text.slice(from));
    return Math.min(runAtEnd(text, /[\w~.-]/, 45), name ? from + name.index : text.length);
  },
};
