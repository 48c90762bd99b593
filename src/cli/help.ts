/** The texts of `lintel help`. */
import type { Command, Group } from "./command.js";

const table = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
};

/** Every command in one line. */
export function overview(commands: readonly (readonly [string, Command | Group])[]): string {
  const rows = commands.flatMap(([name, it]) =>
    "commands" in it ? lines(name, it) : [line(name, it)],
  );
  return `Usage: lintel [COMMAND] [OPTIONS]

Commands:
${table([...rows, ["help [COMMAND]", "shows this, or a command's options"], ["version", "shows the version"]])}

Without a command: serve.`;
}

/** The commands of a group in one line each. */
export const groupHelp = (name: string, group: Group): string =>
  `Usage: lintel ${name} COMMAND [OPTIONS]\n\nCommands:\n${table(lines(name, group))}`;

const line = (name: string, { operand, summary }: Command): [string, string] => [
  operand === undefined ? name : `${name} ${operand}`,
  summary,
];

const lines = (name: string, { commands }: Group): [string, string][] =>
  Object.entries(commands).map(([key, command]) => line(`${name} ${key}`, command));

/** One command and its options. */
export function commandHelp(name: string, command: Command): string {
  const { operand, summary, details, options } = command;
  const rows = Object.entries(options).map(([key, { value, short, help }]): [string, string] => [
    `${short ? `-${short}, ` : "    "}--${key}${value ? ` ${value}` : ""}`,
    help,
  ]);
  const usage = ["lintel", name, ...(operand ? [operand] : []), "[OPTIONS]"].join(" ");
  return [
    `Usage: ${usage}\n\n${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    details,
    `Options:\n${table([...rows, ["-h, --help", "shows this"]])}`,
  ]
    .filter((part) => part !== undefined)
    .join("\n\n");
}
