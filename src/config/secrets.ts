/** Which values of a configuration are keys. */
import { proxyAddresses } from "../backends/http/proxy.js";
import { keepSecret } from "../core/secrets.js";
import type { Config } from "./schema.js";

/**
 * Has this process show none of its keys: those of a configuration, and of the environment, where
 * libraries look for theirs and proxies have their passwords.
 * @param env default: the process's
 */
export function keepSecretsOf(
  config: Config,
  env: Readonly<Record<string, string | undefined>> = process.env,
): void {
  keepSecret([...secretsOf(config), ...secretsOf(proxyAddresses(env)), ...keysIn(env)]);
}

const secretName = /(?:(?:api|access|private|secret)_?key|token|secrets?|password|passphrase)$/i;

/** ANTHROPIC_API_KEY, FAL_KEY, AWS_BEARER_TOKEN_BEDROCK: each provider has its own. */
const variableName = /(?:^|_)(?:key|token|secret|password)(?:_|$)/i;

/** TLS_KEY_FILE, TOKEN_URL: where a key is, which a log has to say. */
const placeName = /_(?:dir|file|id|name|path|uri|url)$/i;

/** Letters of the shortest value of such a variable that is one: others may have its name, too. */
const shortestKey = 16;

const keysIn = (env: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(env).flatMap(([name, value = ""]) =>
    variableName.test(name) && !placeName.test(name) && value.length >= shortestKey ? [value] : [],
  );

/** Every key in a configuration: by the names of fields, in headers, and in addresses. */
export function secretsOf(value: unknown, name = ""): string[] {
  if (typeof value === "string") {
    return [...(secretName.test(name) ? [value] : []), ...passwordsIn(value)];
  }
  if (Array.isArray(value)) return value.flatMap((entry) => secretsOf(entry, name));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) =>
    name === "headers" && typeof entry === "string" ? headerSecrets(entry) : secretsOf(entry, key),
  );
}

/** A header, and what stands behind `Bearer` or `Basic`. */
const headerSecrets = (value: string): string[] => [value, value.replace(/^\w+ +/, "")];

/** The password of an address, as it stands there and as it is meant. */
function passwordsIn(text: string): string[] {
  const password = /^[a-z][a-z\d+.-]*:\/\/[^/?#\s@]*?:([^/?#\s]+)@/i.exec(text)?.[1];
  if (password === undefined) return [];
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}
