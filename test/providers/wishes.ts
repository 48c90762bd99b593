/** How it is told what becomes of requests' wishes, before one vendor and another. */
import { type Name, schema } from "./asked.js";
import type { Form } from "./wire.js";

/** What becomes of a field that is not sent: its caller is warned, or refused. */
export type Instead = "warned" | "refused";

/** What a package makes of requests. */
export interface Wishes {
  /** What its vendor's form has that differs from others of the same wire. */
  readonly forms?: Readonly<Partial<Record<Name, Form>>>;
  /** What is not sent. All else is, but for hints. */
  readonly instead?: Readonly<Partial<Record<Name, Instead>>>;
  /** Hints that are sent; by the documents no others are, and nobody is told. */
  readonly hints?: readonly Name[];
  /**
   * What the package itself does wrong, and nobody can mend from here, with what is sent. A test fails once
   * that is mended.
   */
  readonly faults?: Readonly<Partial<Record<Name, Form>>>;
  /** What is sent for each of the words for how much is thought, in their order. */
  readonly efforts: readonly Form[];
}

/** What changes nothing of an answer, or is said by its absence. */
export const hints: readonly Name[] = [
  ...(["thoughts", "user", "cache key", "lax tool"] as const),
  ...(["marked part", "marked message", "marked tool"] as const),
];

/** Forms for what the seven words become, in their order. */
export const words = (become: string, form: (word: string) => Form): Form[] =>
  become.split(" ").map(form);

/** The words as they are. */
export const all = "none minimal low medium high xhigh max";
/** How most vendors are told one. */
export const flat = (word: string): Form => ({ reasoning_effort: word });
/** How the Responses API is told one. */
export const nested = (word: string): Form => ({ reasoning: { effort: word } });

/** What only servers of open models take, or OpenAI's own. */
export const ofServers = {
  repetition_penalty: "warned",
  min_p: "warned",
  logit_bias: "warned",
  verbosity: "warned",
  service_tier: "warned",
  logprobs: "refused",
} as const;

/** What their vendors' own form has no field for, or no use. */
export const penalties = { frequency_penalty: "warned", presence_penalty: "warned" } as const;

/** What few vendors take. */
export const rare: Wishes["instead"] = {
  ...ofServers,
  ...{ top_k: "warned", "image's detail": "warned", "one call": "warned" },
  ...{ file: "refused", sound: "refused" },
};

/** Their vendors fetch nothing. */
export const inline = { "image's address": "refused" } as const;

/** What models that think by themselves take no more. */
export const whileThinking = { temperature: "warned", top_p: "warned", seed: "warned" } as const;

/** What OpenAI calls the most tokens of an answer by now. */
export const completionTokens = { max_tokens: { max_completion_tokens: 3210 } };

/** Schemas where a form has a place for the schema alone. */
export const schemas = (strict: object, lax: object = strict) => {
  const formed = (more: object): Form => ({
    response_format: { type: "json_schema", json_schema: { schema, ...more } },
  });
  return { schema: formed(strict), "lax schema": formed(lax) };
};

/** Texts of users as parts. */
export const inParts = (form: Form): Form =>
  JSON.parse(
    JSON.stringify(form).replace(
      /"role":"user","content":("[^"]*")/g,
      '"role":"user","content":[{"type":"text","text":$1}]',
    ),
  );
