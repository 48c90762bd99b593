/** What a way to sign in asks of its issuer. */
import type { Proxies } from "../backends/http/proxy.js";
import { LintelError, toLintelError } from "../core/errors.js";
import { isObject } from "../core/json.js";
import { type Described, Discovery } from "./discovery.js";
import { type FormAnswer, postForm } from "./read-json.js";
import type { SignInSettings } from "./sign-in-settings.js";
import { authorizationOf, refusalOf, secretsIn } from "./token-endpoint.js";

/** The client that an operator has registered at an issuer. */
export class IssuerClient {
  readonly settings: SignInSettings;
  readonly #proxies: Proxies;
  readonly #discovery: Discovery;

  constructor(settings: SignInSettings, proxies: Proxies) {
    this.settings = settings;
    this.#proxies = proxies;
    this.#discovery = new Discovery(settings.issuer, proxies);
  }

  /**
   * What the issuer says of itself.
   * @throws LintelError `unavailable` while that can't be read
   */
  async described(): Promise<Described> {
    try {
      return await this.#discovery.read();
    } catch (cause) {
      throw this.#away(cause);
    }
  }

  /**
   * Posts a form to one of its endpoints, as this client.
   * @param endpoint by its name in the description
   * @throws LintelError `unavailable` if no answer comes
   */
  async post(
    described: Described,
    endpoint: string,
    form: Readonly<Record<string, string>>,
  ): Promise<FormAnswer> {
    const { fields, authorization } = authorizationOf(this.settings, described);
    const url = endpointIn(described, endpoint).href;
    try {
      const all = new URLSearchParams({ ...form, ...fields });
      return await postForm(url, this.#proxies, all, authorization);
    } catch (cause) {
      throw this.#away(cause);
    }
  }

  /**
   * Ends a refresh token (RFC 7009).
   * @throws LintelError if it may still count
   */
  async revoke(described: Described, token: string): Promise<void> {
    const form = { token, token_type_hint: "refresh_token" };
    try {
      const answer = await this.post(described, "revocation_endpoint", form);
      const { status, json } = answer;
      // Some issuers refuse one that counts no more, as Google does.
      const over = status === 400 && isObject(json) && json.error === "invalid_token";
      if (status === 200 || over) return;
      throw refusalOf(this.settings.name, answer, secretsIn(this.settings, { token }));
    } catch (thrown) {
      const { code, message, cause } = toLintelError(thrown);
      throw new LintelError(code, `the refresh token may still count: ${message}`, { cause });
    }
  }

  #away(cause: unknown): LintelError {
    const late = cause instanceof Error && cause.name === "TimeoutError";
    const words = late ? "does not answer" : "can't be reached now";
    return new LintelError("unavailable", `${this.settings.name} ${words}`, { cause });
  }
}

/**
 * An endpoint of an issuer.
 * @throws LintelError `unavailable` if the issuer says no address that a browser should be sent to
 */
export function endpointIn(described: Described, key: string): URL {
  const said = described[key];
  const url = typeof said === "string" && URL.canParse(said) ? new URL(said) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  const cause = new Error(`its discovery document has no ${key} over http or https`);
  throw new LintelError("unavailable", `the issuer offers no ${key}`, { cause });
}
