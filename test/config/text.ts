/** Configuration texts, parsed as if they stood in /etc/lintel/lintel.yaml. */
import { expect } from "vitest";
import { parseConfig } from "../../src/config/parse.js";
import { formatProblem } from "../../src/config/problems.js";
import type { Config } from "../../src/config/schema.js";

type Environment = Readonly<Record<string, string>>;

/** The lines that a user would read. */
export function mistakes(text: string, env: Environment = {}): string[] {
  const origin = { source: "lintel.yaml", directory: "/etc/lintel", env };
  return parseConfig(text, origin).problems.map(formatProblem);
}

/** The configuration of a text without mistakes. */
export function valid(text: string, env: Environment = {}, directory = "/etc/lintel"): Config {
  const { config, problems } = parseConfig(text, { source: "lintel.yaml", directory, env });
  expect(problems.map(formatProblem)).toEqual([]);
  return config as Config;
}
