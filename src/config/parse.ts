/** Reads the text of a configuration file, and finds everything that is wrong with it. */
import { crossCheck } from "./checks.js";
import { mapFields, resolvePaths } from "./paths.js";
import {
  type Finding,
  formatPath,
  formatProblem,
  messageOf,
  type Path,
  type Position,
  type Problem,
} from "./problems.js";
import { fewMilliseconds } from "./quantities.js";
import type { Environment } from "./references.js";
import { type Config, configSchema } from "./schema.js";
import { pathKey, readYaml, type YamlFile } from "./yaml.js";

/** What is known about a text besides itself. */
export interface TextOrigin {
  /** The file as problems name it. */
  readonly source: string;
  /** Relative paths count from here. */
  readonly directory: string;
  readonly env: Environment;
  /** Fields that are wanted, such as `state.directory`: others are as if they were not there. Default: all. */
  readonly fields?: readonly string[] | undefined;
}

/** A text that was read: the configuration, or else at least one problem. */
export interface Parsed {
  readonly config?: Config | undefined;
  readonly problems: readonly Problem[];
  /** What may be a mistake, one line each. */
  readonly warnings?: readonly string[];
  /** Where a value stands; absent where the text could not be read. */
  readonly position?: (path: Path) => Position;
}

/** Parses a configuration file. */
export function parseConfig(text: string, origin: TextOrigin): Parsed {
  const { source, directory, env, fields } = origin;
  const whole = readYaml(text, { env, directory });
  const yaml = fields ? partOf(whole, fields) : whole;
  if (yaml.syntax.length > 0) {
    return { problems: yaml.syntax.map((mistake) => ({ source, field: "", ...mistake })) };
  }
  const { config, findings } = check(yaml, directory);
  const placed = (found: readonly Finding[]) =>
    found
      .map(({ path, atKey, message }) => ({
        source,
        position: yaml.position(path, atKey),
        field: formatPath(path),
        message,
      }))
      .sort((a, b) => a.position.line - b.position.line || a.position.column - b.position.column);
  return {
    config,
    problems: placed(findings),
    warnings: config ? placed(shortTimes(yaml.value)).map(formatProblem) : [],
    position: (path) => yaml.position(path),
  };
}

/** A file with nothing in it but these fields. */
function partOf(file: YamlFile, fields: readonly string[]): YamlFile {
  const wanted = fields.map((field) => field.split("."));
  const within = (path: Path) =>
    wanted.some((steps) => steps.every((step, i) => i >= path.length || step === path[i]));
  return {
    ...file,
    value: pick(file.value, wanted),
    references: file.references.filter(({ path }) => within(path)),
  };
}

/** The values at some paths of a mapping, as they are nested there; what is none is left as it is. */
function pick(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const picked: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(value)) {
    const rests = paths.flatMap(([first, ...rest]) => (first === name ? [rest] : []));
    if (rests.length === 0) continue;
    picked[name] = rests.some((rest) => rest.length === 0) ? part : pick(part, rests);
  }
  return picked;
}

/** Durations without a unit that are a part of a second. */
function shortTimes(value: unknown): Finding[] {
  const found: Finding[] = [];
  mapFields(configSchema, value, (schema, written, path) => {
    const ms = fewMilliseconds(schema, written);
    if (ms === undefined) return undefined;
    const message = `${ms} without a unit is ${ms} milliseconds: write ${ms}s for seconds, or ${ms}ms`;
    found.push({ path, message });
    return written;
  });
  return found;
}

/** Everything that is wrong in a file whose syntax is right. */
function check(yaml: YamlFile, directory: string): { config?: Config; findings: Finding[] } {
  const { value, references } = yaml;
  // It is read once: to compile its checkers would take longer than to run them.
  const parse = () => configSchema.safeParse(value, { error: messageOf, jitless: true });
  let result = parse();
  if (!result.success && convert(value, result.error.issues, yaml.fromEnvironment)) {
    result = parse();
  }
  // Of a value that could not be put in, nothing more can be said.
  const unresolved = new Set(references.map(({ path }) => pathKey(path)));
  const findings = [
    ...(result.success ? [] : result.error.issues.flatMap((issue) => toFindings(issue, value))),
    ...crossCheck(value, directory),
  ].filter(({ path }) => !unresolved.has(pathKey(path)));
  findings.push(...references);
  if (!result.success || findings.length > 0) return { findings };
  return { config: resolvePaths(configSchema, result.data, directory), findings };
}

/** An issue as zod reports it. */
interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
}

function toFindings(issue: Issue, value: unknown): Finding[] {
  const path = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
  if (issue.code !== "unrecognized_keys") {
    // Definitions with words of their own say of what is missing only what it is not.
    const found = at(value, issue.path);
    if (issue.code !== "custom" && found === undefined) {
      return [{ path, message: issue.message.replace(/^must be /, "is required: ") }];
    }
    // It looks like what is wanted, and is text.
    const quoted =
      isTypeOrUnion(issue) && typeof found === "string" && /^-?\d+(\.\d+)?$/.test(found);
    return [
      { path, message: quoted ? `${issue.message}: write it without quotes` : issue.message },
    ];
  }
  const messages = issue.message.split("\n");
  return (issue.keys ?? []).map((key, i) => ({
    path: [...path, key],
    message: messages[i] ?? "unknown key",
    atKey: true,
  }));
}

const isTypeOrUnion = ({ code }: Pick<Issue, "code">): boolean =>
  code === "invalid_type" || code === "invalid_union";

/** What stands at a path. */
const at = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (part, step) => (part as Record<PropertyKey, unknown> | null)?.[step],
    value,
  );

/**
 * What comes out of the environment is text. Where the definition wants a
 * number or a switch, and the text is one, makes it one.
 * @returns whether anything was changed
 */
function convert(value: unknown, issues: readonly Issue[], paths: ReadonlySet<string>): boolean {
  let changed = false;
  for (const { code, path } of issues) {
    if (!isTypeOrUnion({ code })) continue;
    const key = path.at(-1);
    if (key === undefined || !paths.has(pathKey(path as (string | number)[]))) continue;
    const parent = at(value, path.slice(0, -1)) as Record<PropertyKey, unknown>;
    const text = String(parent[key]);
    if (text === "true" || text === "false") parent[key] = text === "true";
    else if (/^-?\d+(\.\d+)?$/.test(text)) parent[key] = Number(text);
    else continue;
    changed = true;
  }
  return changed;
}
