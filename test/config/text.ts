/** Configuration texts, parsed as if they stood in /etc/lintel/lintel.yaml. */
import { expect } from "vitest";
import { parseConfig } from "../../src/config/parse.js";
import { formatProblem } from "../../src/config/problems.js";
import type { Config } from "../../src/config/schema.js";

type Environment = Readonly<Record<string, string>>;

/** What a variable that an example names may have. */
export const valueFor = (name: string): string =>
  name.endsWith("SIGNING_SECRET") ? `whsec_${"a".repeat(32)}` : "it";

/** The lines that a user would read. */
export function mistakes(text: string, env: Environment = {}): string[] {
  const origin = { source: "lintel.yaml", directory: "/etc/lintel", env };
  return parseConfig(text, origin).problems.map(formatProblem);
}

/** What is wrong with a text, the text, and of each line that a user would read what stands in it. */
export type Mistake = [what: string, text: string, expected: string[]];

/** A test of one mistake. */
export function expectMistakes(...[, text, expected]: Mistake): void {
  const found = mistakes(text);
  expect(found).toHaveLength(expected.length);
  for (const [i, line] of expected.entries()) expect(found[i]).toContain(line);
}

/** The configuration of a text without mistakes. */
export function valid(text: string, env: Environment = {}, directory = "/etc/lintel"): Config {
  const { config, problems } = parseConfig(text, { source: "lintel.yaml", directory, env });
  expect(problems.map(formatProblem)).toEqual([]);
  return config as Config;
}
