/** What can be wrong with a configuration, and how it is said. */
import { didYouMean } from "./suggest.js";
import { colonHint, otherSpaces, spaceHint } from "./syntax.js";

/** Steps from the top of the configuration to a value. */
export type Path = readonly (string | number)[];

/** Where something stands in a file, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A mistake, before it is known where it stands. */
export interface Finding {
  readonly path: Path;
  /** What is allowed, without the field's name: `must be at most 2`. */
  readonly message: string;
  /** True if the key itself is at fault, not its value. */
  readonly atKey?: boolean;
}

/** A mistake in a configuration. */
export interface Problem {
  /** The file, or what else it came from, for example `environment`. */
  readonly source: string;
  readonly position?: Position | undefined;
  /** The field as a path, for example `models[0].name`; empty for the whole file. */
  readonly field: string;
  readonly message: string;
}

/** A configuration that can't be used. Carries every mistake, by line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(formatProblem).join("\n"));
    this.problems = problems;
  }
}

/** A path as people write it: `models[0].defaults.width`. */
export function formatPath(path: Path): string {
  return path
    .map((step, i) => (typeof step === "number" ? `[${step}]` : i === 0 ? step : `.${step}`))
    .join("");
}

/** One line that names file, line, column, field and what is allowed. */
export function formatProblem(problem: Problem): string {
  const { source, position, field, message } = problem;
  const where = position ? `${source}:${position.line}:${position.column}` : source;
  return field === "" ? `${where}: ${message}` : `${where}: ${field}: ${message}`;
}

/** What zod tells about an issue while it makes the message. */
interface RawIssue {
  readonly code?: string | undefined;
  readonly input?: unknown;
  readonly inst?: unknown;
  readonly [more: string]: unknown;
}

const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a mapping",
  record: "a mapping",
};

/** `a, b or c`. */
export function alternatives(words: readonly unknown[]): string {
  const texts = words.map(String);
  const last = texts.pop() ?? "";
  return texts.length === 0 ? last : `${texts.join(", ")} or ${last}`;
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "boolean") return `${value}`;
  return typeNames[typeof value] ?? typeof value;
}

function oneOf(allowed: readonly unknown[], input: unknown): string {
  if (input === undefined) return `is required: ${alternatives(allowed)}`;
  const hint = typeof input === "string" ? didYouMean(input, allowed.map(String)) : "";
  return `must be ${allowed.length > 1 ? "one of " : ""}${alternatives(allowed)}${hint}`;
}

/**
 * The message for an issue of zod, given to `safeParse` as its `error`.
 * For unknown keys: one line for each key, in their order.
 */
export function messageOf(issue: RawIssue): string | undefined {
  const { code, input } = issue;
  if (input === null) return "is empty: write a value, or leave the key out";
  switch (code) {
    case "invalid_type":
      if (input === undefined) return "is required";
      return issue.expected === "int" && typeof input === "number"
        ? "must be a whole number"
        : wrongType(issue);
    case "invalid_value":
      return oneOf(issue.values as readonly unknown[], input);
    case "invalid_union":
      if (issue.discriminator === undefined || !Array.isArray(issue.options)) return undefined;
      // Zod hands over the whole entry here, not the member that tells the kinds apart.
      return typeof input === "object" && input !== null
        ? oneOf(issue.options, (input as Record<string, unknown>)[String(issue.discriminator)])
        : "must be a mapping";
    case "invalid_key":
      return (issue.issues as readonly { message: string }[])[0]?.message;
    case "too_small":
    case "too_big":
      return outOfBounds(issue, code === "too_small");
    case "unrecognized_keys": {
      const known = keysOf(issue);
      return (issue.keys as readonly string[])
        .map((key) => `unknown key${keyHint(key, known)}`)
        .join("\n");
    }
    default:
      return undefined;
  }
}

/** The keys of the mapping that it is about; none where it is about something else. */
const keysOf = ({ inst }: RawIssue): string[] =>
  Object.keys((inst as { def?: { shape?: object } } | undefined)?.def?.shape ?? {});

function wrongType(issue: RawIssue): string {
  const { expected, input } = issue;
  const wanted = typeNames[String(expected)] ?? expected;
  const keys = keysOf(issue);
  const few = keys.length > 0 && keys.length <= 8;
  const more =
    wanted === "a mapping" && few
      ? ` (${keys.join(", ")})`
      : wanted === "a list" && typeof input === "object"
        ? " (each entry begins with a - and a blank)"
        : "";
  const [, key = ""] = (typeof input === "string" && /^([a-z_]+):\S/.exec(input)) || [];
  // An address has a colon, too.
  if (wanted === "a mapping" && keys.includes(key)) return colonHint;
  const quote = wanted === "text" && typeof input !== "object" ? ": put it in quotes" : "";
  return `must be ${wanted}${more}, not ${typeOf(input)}${quote}`;
}

/** What a file of LiteLLM has at its top. */
const ofLiteLlm = /^(model_list|(litellm|router|general)_settings)$/;

function keyHint(key: string, known: readonly string[]): string {
  if (otherSpaces.test(key)) return ` (${spaceHint})`;
  const [before = key] = key.split(":", 1);
  if (before !== key && known.includes(before)) return ` (${colonHint})`;
  if (ofLiteLlm.test(key)) return " (LiteLLM's: docs/openai.md tells what takes its place)";
  return didYouMean(key, known) || `; known: ${known.join(", ")}`;
}

function outOfBounds(issue: RawIssue, small: boolean): string {
  const bound = small ? issue.minimum : issue.maximum;
  const edge = small ? "at least" : "at most";
  const counted = { string: "characters", array: "items" }[String(issue.origin)];
  if (counted)
    return small && bound === 1 ? "must not be empty" : `must have ${edge} ${bound} ${counted}`;
  if (issue.inclusive === false) return `must be ${small ? "more" : "less"} than ${bound}`;
  return `must be ${edge} ${bound}`;
}
