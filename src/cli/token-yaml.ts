/** A token for the configuration instead of the database. */
import { stringify } from "yaml";
import { limitsWritten } from "../config/caller-limits.js";
import type { NewToken } from "../core/callers/registry.js";
import { createToken, hashToken } from "../core/tokens.js";

/** The token, and the lines that make a configuration know it. */
export function tokenYaml({ name, models, limits, team, expiresAt }: NewToken): string {
  const secret = createToken();
  const token = {
    name,
    hash: hashToken(secret),
    models,
    limits: limits && limitsWritten(limits),
    team,
    expires: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
  };
  const yaml = stringify({ auth: { mode: "token", tokens: [token] } }, { lineWidth: 0 });
  // Else it would stand for a variable of the environment there.
  const lines = yaml.replaceAll("${", () => "$${");
  const words = "This is the only time that it is shown. For lintel.yaml:";
  return `${secret}\n\n${words}\n\n${lines.trimEnd()}`;
}
