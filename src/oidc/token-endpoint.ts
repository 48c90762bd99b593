/** What an issuer's token endpoint wants and answers. */
import { LintelError } from "../core/errors.js";
import { isObject } from "../core/json.js";
import type { Described } from "./discovery.js";
import type { FormAnswer } from "./read-json.js";
import type { SignInSettings } from "./sign-in-settings.js";

/**
 * How a client says who it is: in the header, or where the issuer takes that not, in the form (RFC 6749, 2.3.1).
 * A public one has nothing but its name.
 */
export function authorizationOf(
  { clientId, clientSecret }: SignInSettings,
  { token_endpoint_auth_methods_supported: methods }: Described,
): {
  readonly fields: Readonly<Record<string, string>>;
  readonly authorization?: string | undefined;
} {
  const fields = { client_id: clientId };
  if (clientSecret === undefined) return { fields };
  const known = Array.isArray(methods) ? methods : ["client_secret_basic"];
  if (!known.includes("client_secret_basic") && known.includes("client_secret_post")) {
    return { fields: { ...fields, client_secret: clientSecret } };
  }
  return { fields: {}, authorization: `Basic ${basicOf(clientId, clientSecret)}` };
}

const basicOf = (clientId: string, secret: string): string =>
  Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString("base64");

/** As it stands in a form. */
const formEncoded = (text: string): string => new URLSearchParams({ _: text }).toString().slice(2);

/** What a token endpoint gave, as far as it is looked at. */
export interface Tokens {
  readonly access_token?: string;
  readonly id_token?: string;
  readonly refresh_token?: string;
}

/** The tokens in an answer; what is no text is none. */
export function tokensIn(json: unknown): Tokens {
  const told = isObject(json) ? json : {};
  const names = ["access_token", "id_token", "refresh_token"] as const;
  return Object.fromEntries(
    names.flatMap((name) => (typeof told[name] === "string" ? [[name, told[name]]] : [])),
  );
}

/** What an issuer was sent that nobody else may read, however it was written. */
export function secretsIn(
  { clientId, clientSecret }: Pick<SignInSettings, "clientId" | "clientSecret">,
  {
    code,
    code_verifier: verifier,
    refresh_token: refresh,
    token,
  }: Readonly<Record<string, string>>,
): string[] {
  const own = clientSecret
    ? [basicOf(clientId, clientSecret), formEncoded(clientSecret), clientSecret]
    : [];
  const sent = [code, verifier, refresh, token].filter((text) => text !== undefined);
  // Of what is shorter there is something in any words.
  return [...own, ...sent.filter((text) => text.length >= 8)];
}

/** Letters of an issuer's words that are repeated. */
const mostWords = 300;

/** What a client has done, or who uses it, and not its configuration. */
const ofUsers = new Set([
  "invalid_grant",
  "access_denied",
  "login_required",
  "consent_required",
  "interaction_required",
  "account_selection_required",
]);

/**
 * The error for an answer that has no tokens.
 * @param secrets that were sent, which its words may repeat and the log must not
 */
export function refusalOf(
  name: string,
  { status, json }: FormAnswer,
  secrets: readonly string[],
): LintelError {
  const told = isObject(json) ? json : {};
  const shown = (value: unknown): string => {
    if (typeof value !== "string") return "";
    const plain = secrets.reduce((text, secret) => text.replaceAll(secret, "…"), value);
    return plain.replace(/[^\x20-\x7e…]+/g, " ").slice(0, mostWords);
  };
  const code = shown(told.error);
  const words = [code, shown(told.error_description)].filter((text) => text !== "").join(": ");
  if (ofUsers.has(code)) return new LintelError("invalid_value", `${name} refuses: ${words}`);
  const message =
    words === "" ? `${name} answers with status ${status}` : `${name} refuses: ${words}`;
  return status >= 500 || status === 429
    ? new LintelError("unavailable", message)
    : new LintelError("upstream_failed", message);
}
