/** What a command of the command line is, and how its arguments are read. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { didYouMean } from "../config/suggest.js";

/** An option of a command. */
export interface Option {
  /** What to call its value in the help; absent: a switch. */
  readonly value?: string;
  /** Whether it may be given several times. */
  readonly multiple?: boolean;
  readonly short?: string;
  /** One line for the help. */
  readonly help: string;
}

/** Options as they were given, by name. */
export interface Given {
  /** The last value of an option. */
  text(name: string): string | undefined;
  /** Every value of an option. */
  texts(name: string): string[];
  /** Whether an option was given. */
  has(name: string): boolean;
  /** The operand; empty for a command without one. */
  readonly operand: string;
}

/** A command, for example `lintel check`. */
export interface Command {
  /** One line for the overview. */
  readonly summary: string;
  /** More for `lintel help COMMAND`. */
  readonly details?: string;
  /** What the word after the command's name is: `NAME` if it must be there, `[NAME]` if it may. */
  readonly operand?: string;
  readonly options: Readonly<Record<string, Option>>;
  /** Runs it. Resolves with the exit code. */
  run(given: Given): Promise<number>;
}

/** Commands that belong together, for example `lintel tokens create` and `lintel tokens list`. */
export interface Group {
  readonly commands: Readonly<Record<string, Command>>;
}

/** The command line was used wrongly; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** The command that it was used with; absent: it is none. */
  command?: string;
}

/**
 * Reads a command's arguments.
 * @returns the options, or `"help"` if that was asked for
 * @throws UsageError
 */
export function readArguments(
  name: string,
  command: Command,
  args: readonly string[],
): Given | "help" {
  const options: ParseArgsConfig["options"] = { help: { type: "boolean", short: "h" } };
  for (const [key, option] of Object.entries(command.options)) {
    options[key] = {
      type: option.value === undefined ? "boolean" : "string",
      ...(option.short !== undefined && { short: option.short }),
    };
  }
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const values = new Map<string, string[]>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    if (token.name === "help") return "help";
    const known = Object.hasOwn(command.options, token.name);
    const option = known ? command.options[token.name] : undefined;
    if (!option) {
      const hint = didYouMean(token.name, [...Object.keys(command.options), "help"]);
      throw new UsageError(`unknown option ${token.rawName}${hint.replace('"', '"--')}`);
    }
    const wants = option.value !== undefined;
    if (wants && (token.value === undefined || token.value === "")) {
      throw new UsageError(`${token.rawName} needs a value: ${token.rawName} ${option.value}`);
    }
    if (!wants && token.value !== undefined) {
      throw new UsageError(`${token.rawName} takes no value`);
    }
    const earlier = values.get(token.name) ?? [];
    if (earlier.length > 0 && !option.multiple) {
      throw new UsageError(`${token.rawName} is given twice`);
    }
    values.set(token.name, [...earlier, token.value ?? ""]);
  }
  const [operand = "", extra] = words;
  const unexpected = command.operand === undefined ? words[0] : extra;
  if (unexpected !== undefined) {
    throw new UsageError(`unexpected argument "${unexpected}"${placeOf(unexpected, command)}`);
  }
  // One that may be left out is still not empty where it is given: a variable was, perhaps.
  if (operand === "" && command.operand !== undefined) {
    const optional = command.operand.startsWith("[");
    if (!optional) throw new UsageError(`${name} needs ${command.operand}`);
    if (words.length > 0) throw new UsageError(`${name}: ${command.operand.slice(1, -1)} is empty`);
  }
  return {
    operand,
    has: (key) => values.has(key),
    text: (key) => values.get(key)?.at(-1),
    texts: (key) => values.get(key) ?? [],
  };
}

/** Where an argument may belong that is one too many. */
function placeOf(word: string, { operand, options }: Command): string {
  if (operand && /MESSAGE|PROMPT/.test(operand)) {
    return `: put ${operand.replace(/[[\]]/g, "")} in quotes`;
  }
  return options.config && /\.(ya?ml|json)$/i.test(word) ? `: name a file with --config` : "";
}

/** The options that choose a configuration. */
export const configOptions = {
  config: {
    value: "FILE",
    short: "c",
    help: "configuration file (default: $LINTEL_CONFIG, then lintel.yaml if there is one)",
  },
  listen: {
    value: "ADDRESS",
    short: "l",
    multiple: true,
    help: "listen here instead: host:port, :port, or unix:/path; may be repeated",
  },
} as const satisfies Record<string, Option>;
