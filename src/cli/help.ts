/** The texts of `lintel help`. */
import type { Command } from "./command.js";

const table = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
};

/** Every command in one line. */
export function overview(commands: readonly (readonly [string, Command])[]): string {
  const rows = commands.map(([name, { words = [], summary }]): [string, string] => [
    [name, ...words].join(" "),
    summary,
  ]);
  return `Usage: lintel [COMMAND] [OPTIONS]

Commands:
${table([...rows, ["help [COMMAND]", "shows this, or a command's options"], ["version", "shows the version"]])}

Without a command: serve.`;
}

/** One command and its options. */
export function commandHelp(name: string, command: Command): string {
  const { words = [], summary, details, options } = command;
  const rows = Object.entries(options).map(([key, { value, short, help }]): [string, string] => [
    `${short ? `-${short}, ` : "    "}--${key}${value ? ` ${value}` : ""}`,
    help,
  ]);
  const usage = ["lintel", name, ...words, "[OPTIONS]"].join(" ");
  return [
    `Usage: ${usage}\n\n${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    details,
    `Options:\n${table([...rows, ["-h, --help", "shows this"]])}`,
  ]
    .filter((part) => part !== undefined)
    .join("\n\n");
}
