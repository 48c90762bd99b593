/** Which values of a configuration are keys. */
import { proxyAddresses } from "../backends/http/proxy.js";
import { keepSecret } from "../core/secrets.js";
import type { Config } from "./schema.js";

/**
 * Has this process show none of its keys: those of a configuration, and of the environment's proxies.
 * @param env default: the process's
 */
export function keepSecretsOf(
  config: Config,
  env: Readonly<Record<string, string | undefined>> = process.env,
): void {
  keepSecret([...secretsOf(config), ...secretsOf(proxyAddresses(env))]);
}

const secretName = /(?:api_?key|token|secret|secret_access_key|password|passphrase)$/i;

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
