/** Finds the command that is asked for and runs it. */
import { ConfigError, formatProblem } from "../config/problems.js";
import { didYouMean } from "../config/suggest.js";
import { type Command, readArguments, UsageError } from "./command.js";
import { commandHelp, overview } from "./help.js";
import { out, say } from "./output.js";
import { version } from "./version.js";

/** Commands by name. Each loads when it is asked for. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.js")).serve,
  check: async () => (await import("./check.js")).check,
  node: async () => (await import("./node.js")).node,
  token: async () => (await import("./token.js")).token,
  schema: async () => (await import("./schema.js")).schema,
};

/**
 * Runs the command line.
 * @param args without the program's own name
 * @returns the exit code: 0, 1 if it failed, 2 if the arguments are wrong
 */
export async function run(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args);
  } catch (error) {
    if (error instanceof UsageError) {
      say(`lintel: ${error.message}\nlintel help lists the commands and their options`);
      return 2;
    }
    if (error instanceof ConfigError) {
      for (const problem of error.problems) say(formatProblem(problem));
      return 1;
    }
    throw error;
  }
}

async function dispatch(args: readonly string[]): Promise<number> {
  const [first = "serve", ...rest] = args;
  if (first === "-v" || first === "--version" || first === "version") {
    out(`lintel ${version()}`);
    return 0;
  }
  if (first === "-h" || first === "--help" || first === "help") return help(rest[0]);
  // Options without a command belong to `serve`.
  const implied = first.startsWith("-");
  const name = implied ? "serve" : first;
  const command = await find(name);
  const given = readArguments(name, command, implied ? args : rest);
  return given === "help" ? help(name) : command.run(given);
}

async function find(name: string): Promise<Command> {
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load) return load();
  const known = [...Object.keys(commands), "help", "version"];
  const hint = didYouMean(name, known) || `; there are: ${known.join(", ")}`;
  throw new UsageError(`unknown command "${name}"${hint}`);
}

async function help(name: string | undefined): Promise<number> {
  if (name === undefined || name === "help" || name === "version") {
    const all = Object.entries(commands).map(async ([key, load]) => [key, await load()] as const);
    out(overview(await Promise.all(all)));
  } else {
    out(commandHelp(name, await find(name)));
  }
  return 0;
}
