/** A token for the configuration instead of the database. */
import { stringify } from "yaml";
import { limitsWritten } from "../config/caller-limits.js";
import type { NewToken } from "../core/callers/registry.js";
import { createToken, hashToken } from "../core/tokens.js";

/** The token, and the lines that make a configuration know it. */
export function tokenYaml({ name, models, from, limits, team, expiresAt }: NewToken): string {
  const secret = createToken();
  const token = {
    name,
    hash: hashToken(secret),
    models,
    from,
    limits: limits && limitsWritten(limits),
    team,
    expires: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
  };
  return shown(secret, { auth: { mode: "token", tokens: [token] } });
}

/** The token of an administrator, and the lines that make a configuration know it. */
export function adminYaml({
  name,
  from,
  expiresAt,
}: Pick<NewToken, "name" | "from" | "expiresAt">): string {
  const secret = createToken();
  const expires = expiresAt === undefined ? undefined : new Date(expiresAt).toISOString();
  return shown(secret, { admin: { tokens: [{ name, hash: hashToken(secret), from, expires }] } });
}

function shown(secret: string, configuration: object): string {
  const yaml = stringify(configuration, { lineWidth: 0 });
  // Else it would stand for a variable of the environment there.
  const lines = yaml.replaceAll("${", () => "$${");
  const words = "This is the only time that it is shown. For lintel.yaml:";
  return `${secret}\n\n${words}\n\n${lines.trimEnd()}`;
}
