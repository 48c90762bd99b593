/**
 * Answers of model servers as files: `#` lines that say where the bytes come
 * from, a status line, headers, a blank line, and the body to the last byte.
 */
import { readdirSync, readFileSync } from "node:fs";

/** An answer to play. */
export interface Fixture {
  /** Where the bytes come from. */
  readonly source: string;
  readonly status: number;
  /** Names in lower case; framing is the player's business. */
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

const root = new URL("./fixtures/", import.meta.url);

/**
 * Reads a fixture.
 * @param name folder and file without its ending, for example `"vllm/stream"`
 */
export function fixture(name: string): Fixture {
  const bytes = readFileSync(new URL(`${name}.http`, root));
  const headEnd = bytes.indexOf("\n\n");
  const lines = bytes.toString("utf8", 0, headEnd).split("\n");
  const source = lines.filter((line) => line.startsWith("#")).map((line) => line.slice(2));
  const [start = "", ...fields] = lines.filter((line) => !line.startsWith("#"));
  return {
    source: source.join("\n"),
    status: Number(start.split(" ")[1]),
    headers: Object.fromEntries(
      fields.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    ),
    body: bytes.subarray(headEnd + 2),
  };
}

/** Names of every fixture. */
export function fixtureNames(): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".http"))
    .map((name) => name.slice(0, -".http".length))
    .sort();
}
