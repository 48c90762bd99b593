/** Finds the command that is asked for and runs it. */
import { alternatives, ConfigError, formatProblem } from "../config/problems.js";
import { didYouMean } from "../config/suggest.js";
import { ensureHome } from "../state/directory.js";
import { version } from "../version.js";
import { type Command, type Group, readArguments, UsageError } from "./command.js";
import { commandHelp, groupHelp, overview } from "./help.js";
import { endWithOutput, out, say } from "./output.js";

/** Commands by name. Each loads when it is asked for. */
const commands: Readonly<Record<string, () => Promise<Command | Group>>> = {
  serve: async () => (await import("./serve.js")).serve,
  check: async () => (await import("./check.js")).check,
  node: async () => (await import("./node.js")).node,
  chat: async () => (await import("./chat.js")).chat,
  image: async () => (await import("./image.js")).image,
  models: async () => (await import("./models.js")).models,
  account: async () => (await import("./account.js")).account,
  "own-tokens": async () => (await import("./own-tokens.js")).ownTokens,
  tokens: async () => (await import("./tokens.js")).tokens,
  backup: async () => (await import("./backup.js")).backup,
  usage: async () => (await import("./usage.js")).usage,
  top: async () => (await import("./top.js")).top,
  schema: async () => (await import("./schema.js")).schema,
};

/**
 * Runs the command line.
 * @param args without the program's own name
 * @returns the exit code: 0, 1 if it failed, 2 if the arguments are wrong
 */
export async function run(args: readonly string[]): Promise<number> {
  endWithOutput();
  ensureHome();
  try {
    return await dispatch(args);
  } catch (error) {
    if (error instanceof UsageError) {
      const { command } = error;
      const help = command
        ? `lintel help ${command} lists its options`
        : "lintel help lists the commands and their options";
      say(`lintel: ${error.message}\n${help}`);
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
  const [first = "", ...rest] = args;
  if (first === "-v" || first === "--version" || first === "version") {
    out(`lintel ${version()}`);
    return 0;
  }
  if (first === "-h" || first === "--help" || first === "help") return help(rest);
  // Options without a command belong to `serve`.
  const implied = args.length === 0 || first.startsWith("-");
  const { name, found, rest: own } = await find(implied ? ["serve", ...args] : args);
  if ("commands" in found) {
    if (["-h", "--help"].includes(own[0] ?? "")) return help([name]);
    const names = alternatives(Object.keys(found.commands));
    throw new UsageError(`say what to do: lintel ${name} ${names}`);
  }
  try {
    const given = readArguments(name, found, own);
    return given === "help" ? await help(name.split(" ")) : await found.run(given);
  } catch (error) {
    if (error instanceof UsageError) error.command = name;
    throw error;
  }
}

/** What some arguments begin with: its name in full, a command or a group, and what comes after. */
async function find(args: readonly string[]) {
  const [first = "", second, ...after] = args;
  const load = Object.hasOwn(commands, first) ? commands[first] : undefined;
  if (!load) throw unknown(first, first, [...Object.keys(commands), "help", "version"]);
  const found = await load();
  const isGroup = "commands" in found && second !== undefined && !second.startsWith("-");
  if (!isGroup) return { name: first, found, rest: args.slice(1) };
  const command = Object.hasOwn(found.commands, second) ? found.commands[second] : undefined;
  const name = `${first} ${second}`;
  if (!command) throw unknown(name, second, Object.keys(found.commands));
  return { name, found: command, rest: after };
}

function unknown(name: string, word: string, known: readonly string[]): UsageError {
  const hint = didYouMean(word, known) || `; there are: ${known.join(", ")}`;
  return new UsageError(`unknown command "${name}"${hint}`);
}

async function help(words: readonly string[]): Promise<number> {
  const [first] = words;
  if (first === undefined || first === "help" || first === "version") {
    const all = Object.entries(commands).map(async ([key, load]) => [key, await load()] as const);
    out(overview(await Promise.all(all)));
  } else {
    const { name, found } = await find(words);
    out("commands" in found ? groupHelp(name, found) : commandHelp(name, found));
  }
  return 0;
}
