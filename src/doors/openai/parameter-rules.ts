/** What becomes of request parameters that the contract does not have. */
import { type LintelError, unsupported } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { fields, type Known } from "../json/known.js";

/** What becomes of a parameter that asks for something. */
export interface Rule {
  /** Values that ask for nothing; `null` and an empty array never do. */
  readonly neutral: readonly unknown[];
  /** Values that the contract has, too. */
  readonly taken?: readonly unknown[];
  /** Dropped with a warning, or refused because the client would look for what no answer has. */
  readonly otherwise: "warn" | "refuse";
  /** The member of an object that may stand for it with such a value; `type` by default. */
  readonly member?: string;
  /** Whether `{}` asks for something, too: for it with its defaults. */
  readonly emptyAsks?: boolean;
  /** Why it is refused, where that is not what is supported instead. */
  readonly why?: string;
}

/** It is dropped. @param neutral values that ask for nothing */
export const warn = (...neutral: unknown[]): Rule => ({ neutral, otherwise: "warn" });

/** It is refused. @param neutral values that ask for nothing, and are told as what is supported */
export const refuse = (...neutral: unknown[]): Rule => ({ neutral, otherwise: "refuse" });

/** It is refused, whatever it says. */
export const refuseSince = (why: string): Rule => ({ ...refuse(), why });

/** By the parameters' names. */
export type Rules = ReadonlyMap<string, Rule>;

/** Those of a table. */
export const rules = (table: Readonly<Record<string, Rule>>): Rules =>
  new Map(Object.entries(table));

/** What is read of parameters with rules: of an object one member. */
export const fieldsOfRules = (rules: Rules): Record<string, Known> =>
  Object.fromEntries(
    [...rules].map(([name, { member = "type" }]) => [name, fields({ [member]: true })]),
  );

/**
 * Looks for parameters that can't be honoured.
 * @param warnings gets a line for each that is dropped
 * @param within what their names begin with
 * @returns the error for the first that is refused
 */
export function checkParameters(
  json: JsonObject,
  rules: Rules,
  warnings: string[],
  within = "",
): LintelError | undefined {
  let refused: LintelError | undefined;
  // Requests have fewer parameters than there are rules.
  for (const name of Object.keys(json)) {
    const rule = rules.get(name);
    if (!rule) continue;
    const value = json[name];
    // Forms send what nobody filled in.
    const unset = value === undefined || value === null || value === "";
    if (unset || rule.taken?.includes(value) || isNeutral(value, rule)) continue;
    if (rule.otherwise === "warn") warnings.push(`${within}${name}: not supported, ignored`);
    else {
      const why = rule.why ?? `this gateway supports ${inWords(rule.neutral)}`;
      refused ??= unsupported(within + name, why);
    }
  }
  return refused;
}

const inWords = (values: readonly unknown[]) =>
  values.length === 0
    ? "nothing of the kind"
    : `only ${values.map((value) => JSON.stringify(value)).join(" and ")}`;

/** `{type: "text"}` stands for `"text"`, `["text"]` too. */
function isNeutral(value: unknown, rule: Rule): boolean {
  const { neutral, member = "type", emptyAsks = false } = rule;
  if (neutral.includes(value)) return true;
  if (Array.isArray(value)) return value.every((item) => neutral.includes(item));
  if (!isObject(value)) return false;
  const members = Object.keys(value);
  if (members.length === 0) return !emptyAsks;
  return members.length === 1 && neutral.includes(value[member]);
}
